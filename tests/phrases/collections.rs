//! Tuples, dictionaries and sets: what stands for them here means what they do in Python.

use super::faithful::trouble;

const SAME: &[&str] = &[
    // A tuple that a variable has is one place of a tensor, and a list is rows.
    r#"
import torch
Q = torch.zeros(2, 3)
s = (0, 1)
Q[s] = -1
assert Q[s].item() == -1 and Q.sum().item() == -1
for p in [(0, 1), (1, 2)]:
    Q[p] += 2
assert Q[0, 1] == 1 and Q[1, 2] == 2
start = (0, 0)
dist = {start: 3}
agents = [{"pos": (1, 1)}]
for agent in agents:
    Q[agent["pos"]] += dist[start]
assert Q[1, 1] == 3
Q[1, 1] = 0
rows = [1, 0]
assert Q[rows].tolist() == [[0, 0, 2], [0, 1, 0]]
"#,
    // So is one that a function, a method or a field gives, wherever it is handed on to.
    r#"
import torch
class Grid:
    def __init__(self, n):
        self.n = n
        self.start = (0, 0)
        self.pos = self.start
    def reset(self):
        self.pos = self.start
        return self.pos
    def step(self, a):
        r, c = self.pos
        if a == 0:
            r = min(r + 1, self.n - 1)
        else:
            c = min(c + 1, self.n - 1)
        self.pos = (r, c)
        return self.pos, -1.0, self.pos == (self.n - 1, self.n - 1)
def choose(Q, state):
    return Q[state].argmax().item()
env = Grid(3)
Q = torch.zeros(3, 3, 2)
for episode in range(4):
    state, done = env.reset(), False
    while not done:
        a = choose(Q, state)
        nxt, reward, done = env.step(a)
        Q[state][a] += 0.5 * (reward + Q[nxt].max().item() - Q[state][a].item())
        state = nxt
assert Q.sum().item() == -9.25
assert Q[env.start].shape[0] == 2 and Q[2, 2].sum() == 0
path = [(0, 0), (0, 1)]
policy = {s: Q[s].argmax().item() for s in path}
assert len(policy) == 2 and policy[(0, 1)] in [0, 1]
"#,
    // Keys that are numbers or tuples, of whatever kind the variable is that has one.
    r#"
memo = {}
def ways(r, c):
    if r == 0 or c == 0:
        return 1
    if (r, c) in memo:
        return memo[(r, c)]
    memo[r, c] = ways(r - 1, c) + ways(r, c - 1)
    return memo[r, c]
def fib(n, known):
    if n in known:
        return known[n]
    return n if n < 2 else fib(n - 1, known) + fib(n - 2, known)
def two_sum(nums, target):
    seen = {}
    for i, n in enumerate(nums):
        if target - n in seen:
            return [seen[target - n], i]
        seen[n] = i
assert ways(5, 5) == 252 and fib(12, {10: 55}) == 144 and two_sum([3, 2, 4], 6) == [1, 2]
pairs = {}
text = "low low lower"
for a, b in zip(text, text[1:]):
    pairs[a, b] = pairs.get((a, b), 0) + 1
best = max(pairs, key=pairs.get)
first, second = best
assert first + second == "lo" and pairs[best] == 3 and ("z", "z") not in pairs
total = 0
for pair, n in pairs.items():
    if pair[0] == "l":
        total += n
squares = {n: n * n for n in range(4)}
assert total == 3 and sum(k + v for k, v in squares.items()) == 20 and sorted(squares)[-1] + 1 == 4
del squares[2]
assert 2 not in squares and squares.get(3, 0) == 9 and squares.pop(1) == 1
"#,
    // What stands for a key that is missing is there once it is changed.
    r#"
from collections import defaultdict, Counter, deque
counts = defaultdict(int)
groups = defaultdict(list)
seen = defaultdict(set)
for w in "the cat sat on the mat".split():
    counts[w] += 1
    groups[len(w)].append(w)
    seen[w[0]].add(w)
assert counts["the"] == 2 and counts["dog"] == 0 and groups[2] == ["on"] and len(seen["t"]) == 1
c = Counter("hello")
c.update("all")
assert c["l"] == 4 and c["z"] == 0 and sum(c.values()) == 8
def stats(words):
    found = defaultdict(int)
    for a, b in zip(words, words[1:]):
        found[a, b] += 1
    return found
s = stats(["a", "b", "a", "b"])
top = max(s, key=s.get)
assert top[0] == "a" and s[top] == 2
q = deque([1, 2])
q.append(3)
q.appendleft(0)
assert q.popleft() == 0 and q.pop() == 3 and len(q) == 2
while q:
    q.popleft()
assert len(q) == 0
"#,
    r#"
from collections import defaultdict
import torch
Q = defaultdict(lambda: torch.zeros(2))
state = (1, 2)
Q[state][1] += 5
Q[(0, 0)][0] = 2
assert Q[state].sum() == 5 and Q[(0, 0)].tolist() == [2, 0] and Q[(9, 9)].sum() == 0
V = defaultdict(lambda: 1.5)
V[3] -= 0.5
assert V[3] == 1.0 and V[4] == 1.5
"#,
    // Sets.
    r#"
s = set()
s.add(3)
s.add(3)
a, b = {1, 2, 3}, {2, 3, 4}
assert len(s) == 1 and sorted(a & b) == [2, 3] and sorted(a | b) == [1, 2, 3, 4] and sorted(a - b) == [1]
assert len(a.union([9, 9])) == len(a) + 1 and len(a.symmetric_difference([8, 8])) == len(a) + 1
assert sorted(a.union(b)) == [1, 2, 3, 4] and sorted(a ^ b) == [1, 4] and {2} <= b and {3, 2, 1} == a and a != b
a.discard(9)
a.discard(1)
a.update([7, 8, 8])
b |= {9}
assert sorted(a) == [2, 3, 7, 8] and a.isdisjoint({5}) and 9 in b and len({len(w) for w in ["a", "b"]}) == 1
class Walk:
    def __init__(self):
        self.seen = set()
    def go(self, p):
        if p in self.seen:
            return False
        self.seen.add(p)
        return True
w = Walk()
assert w.go((0, 1)) and not w.go((0, 1)) and w.go((1, 1))
def reach(graph, node, visited):
    visited.add(node)
    for n in graph[node]:
        if n not in visited:
            reach(graph, n, visited)
    return visited
assert sorted(reach({"A": ["B"], "B": ["A"]}, "A", set())) == ["A", "B"]
"#,
    // A function with a name of PyTorch's, which the program calls as well.
    r#"
import torch
import torch.nn.functional as F
def total(x):
    return softmax(x).sum().item()
def softmax(x):
    e = torch.exp(x - x.max())
    return e / e.sum() + 1
def mean(xs):
    return sum(xs) / len(xs) + 100
def relu(x): return x * 5
t = torch.tensor([1.0, 2.0])
assert abs(total(t) - 3) < 1e-5 and abs(torch.softmax(t, 0).sum().item() - 1) < 1e-5
assert mean([1, 2]) == 101.5 and torch.mean(t) == 1.5 and t.mean() == 1.5
assert relu(-2) == -10 and F.relu(torch.tensor(-2.0)) == 0 and [relu(x) for x in [1]] == [5]
"#,
    // A whole division that goes on, and the name of a loop's pair.
    r#"
def half(m):
    return m // 2 if m % 2 == 0 else 3 * m + 1
assert half(8) == 4 and half(3) == 10
out = [n for pair, n in [((1, 2), 3)]]
for pair, n in [((1, 2), 3)]:
    assert pair[1] == 2 and n == 3
assert out == [3]
"#,
];

#[test]
fn collections_of_pythons_mean_the_same() {
    let wrong: Vec<String> = SAME.iter().filter_map(|code| trouble(code)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
