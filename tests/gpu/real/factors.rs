//! Matrices that are large enough for cuSOLVER. The CPU engine is the reference; vectors are held to what they are for,
//! as their signs are anyone's.

use super::large::compared;

#[test]
#[ignore = "needs a GPU"]
fn large_matrices_taken_apart() {
    compared(
        "manual_seed(12);
        matmul::allow_tf32(false);
        fn turned(x) { x.transpose(-2, -1) }
        for dtype in [float64, float32] {
            let bound = if dtype == float64 { 1e-9 } else { 2e-2 };
            let plus = |x, by| x + by * eye(x.size(-1), #{dtype: dtype});
            for shape in [[130, 130], [3, 200, 200], [2, 2, 129, 129]] {
                let a = plus.call(randn(shape).to(dtype), 3.0);
                let b = randn(shape.extract(0, shape.len() - 1) + [5]).to(dtype);
                let label = `${shape} ${dtype}`;
                let g = a.cuda();
                check(wrong, `solve ${label}`, g.matmul(linalg::solve(g, b.cuda())), b, bound, bound);
                // The same of a view, and of one whose matrices are the same.
                check(wrong, `solve of a view ${label}`, turned(g).matmul(linalg::solve(turned(g), b.cuda())), b, bound, bound);
                check(wrong, `inverse ${label}`, linalg::inv(g).matmul(g), eye(shape[shape.len() - 1], #{dtype: dtype}).expand(shape), bound, bound);
                let s = plus.call(a.matmul(turned(a)), 1.0);
                check(wrong, `cholesky ${label}`, linalg::cholesky(s.cuda()), linalg::cholesky(s), bound, bound);
                check(wrong, `upper cholesky ${label}`, linalg::cholesky(s.cuda(), true), linalg::cholesky(s, true), bound, bound);
                let want = linalg::lu(a); let got = linalg::lu(g);
                for name in [\"P\", \"L\", \"U\"] { check(wrong, `lu ${name} ${label}`, got[name], want[name], bound, bound); }
            }
            let long = randn([5000, 40]).to(dtype);
            check(wrong, `order of many rows ${dtype}`, linalg::lu(long.cuda()).L, linalg::lu(long).L, bound, bound);
            for shape in [[130, 130], [400, 130], [130, 200], [2, 3, 150, 140], [5000, 40]] {
                for mode in [\"reduced\", \"complete\", \"r\"] {
                    if shape[0] == 5000 && mode == \"complete\" { continue; }
                    let a = randn(shape).to(dtype);
                    let want = linalg::qr(a, mode); let got = linalg::qr(a.cuda(), mode);
                    let label = `${shape} ${dtype} ${mode}`;
                    check(wrong, `r ${label}`, got.R, want.R, bound, bound);
                    if mode != \"r\" { check(wrong, `q ${label}`, got.Q, want.Q, bound, bound); }
                }
            }
            for shape in [[256, 256], [2, 260, 260]] {
                let a = randn(shape).to(dtype);
                let s = a + turned(a);
                let label = `${shape} ${dtype}`;
                let got = linalg::eigh(s.cuda());
                let values = got.eigenvalues; let vectors = got.eigenvectors;
                check(wrong, `eigenvalues ${label}`, values, linalg::eigvalsh(s), bound, bound);
                check(wrong, `eigenvalues alone ${label}`, linalg::eigvalsh(s.cuda()), linalg::eigvalsh(s), bound, bound);
                for triangle in [\"L\", \"U\"] {
                    check(wrong, `one triangle ${triangle} ${label}`, linalg::eigvalsh(a.cuda(), triangle), linalg::eigvalsh(a, triangle), bound, bound);
                }
                check(wrong, `eigenvectors ${label}`, vectors.matmul(values.unsqueeze(-1) * turned(vectors)), s, bound, bound);
            }
            for shape in [[256, 256], [256, 290], [300, 256], [2, 270, 256]] {
                for full in [true, false] {
                    let a = randn(shape).to(dtype);
                    let label = `${shape} ${dtype} ${full}`;
                    let want = linalg::svd(a, full); let got = linalg::svd(a.cuda(), full);
                    let k = want.S.size(-1);
                    let back = got.U.narrow(-1, 0, k).matmul(got.S.unsqueeze(-1) * got.Vh.narrow(-2, 0, k));
                    check(wrong, `values ${label}`, got.S, want.S, bound, bound);
                    check(wrong, `values alone ${label}`, linalg::svdvals(a.cuda()), want.S, bound, bound);
                    check(wrong, `product ${label}`, back, a, bound, bound);
                    for sides in [[\"u\", turned(got.U).matmul(got.U)], [\"vh\", got.Vh.matmul(turned(got.Vh))]] {
                        let one = eye(sides[1].size(-1), #{dtype: dtype}).expand(sides[1].shape);
                        check(wrong, `${sides[0]} ${label}`, sides[1], one, bound, bound);
                    }
                    equal(wrong, `shapes ${label}`, [got.U.shape, got.Vh.shape], [want.U.shape, want.Vh.shape]);
                }
            }
        }",
    );
}

#[test]
#[ignore = "needs a GPU"]
fn large_matrices_that_have_no_factors() {
    compared(
        "let n = 200;
        fn said(work) { try { work.call(); } catch (error) { return error.message; } return \"nothing\"; }
        let flat = eye(n, #{dtype: float64});
        flat[150] = 0.0;
        let bad = stack([eye(n, #{dtype: float64}), flat]);
        let sunk = eye(n, #{dtype: float64});
        sunk[100][100] = -1.0;
        let lost = eye(300, #{dtype: float64});
        lost[7][7] = nan;
        for row in [
            [\"solve\", |d| linalg::solve(flat.to(d), ones([n, 1], #{dtype: float64, device: d}))],
            [\"inverse\", |d| linalg::inv(flat.to(d))],
            [\"inverse of a batch\", |d| linalg::inv(bad.to(d))],
            [\"cholesky\", |d| linalg::cholesky(sunk.to(d))],
            [\"cholesky of a batch\", |d| linalg::cholesky(stack([eye(n, #{dtype: float64}), sunk]).to(d))],
            [\"eigh\", |d| linalg::eigh(lost.to(d))],
            [\"eigvalsh\", |d| linalg::eigvalsh(lost.to(d))],
            [\"svd\", |d| linalg::svd(lost.to(d))],
            [\"svdvals\", |d| linalg::svdvals(lost.to(d))],
        ] {
            let name = row[0]; let work = row[1];
            let want = said(|| work.call(\"cpu\"));
            if want == \"nothing\" { wrong.push(`${name}: no error on the CPU`); }
            equal(wrong, name, said(|| work.call(\"cuda\")), want);
        }
        equal(wrong, \"rows of what is lost\", linalg::lu(lost.cuda()).P.sum(0).cpu().eq(1.0).all().item(), true);
        let want = linalg::cholesky_ex(sunk); let got = linalg::cholesky_ex(sunk.cuda());
        equal(wrong, \"info\", got.info.item(), want.info.item());
        check(wrong, \"columns before\", got.L.narrow(1, 0, 100), want.L.narrow(1, 0, 100), 0.0, 0.0);
        want = linalg::lu(flat); got = linalg::lu(flat.cuda());
        check(wrong, \"upper of a singular matrix\", got.U, want.U, 0.0, 0.0);",
    );
}
