//! Reading and writing at indices: what PyTorch gives for the same index.

use tensorlab::op::Value;
use tensorlab::op::core::convert;
use tensorlab::op::def::Operand;
use tensorlab::op::gather::{along_dim, select};
use tensorlab::op::index::brackets::{index, index_put_};
use tensorlab::op::index::indices::Index;
use tensorlab::op::index::masks::{masked_select, nonzero, nonzero_columns, positions};
use tensorlab::op::shape::{part, permute, view};
use tensorlab::op::sorting::sort;
use tensorlab::tensor::Tensor;

use super::{f32s, failure, i64s, mask, numbers, shown};

fn cube() -> Tensor {
    f32s(&(0..24).map(f64::from).collect::<Vec<_>>(), &[2, 3, 4])
}

fn pick(x: &Tensor, at: &[Index]) -> (Vec<usize>, Vec<f64>) {
    let y = index(x, at).unwrap();
    (y.shape().to_vec(), numbers(&y))
}

fn t(values: &[i64], shape: &[usize]) -> Index {
    Index::Tensor(i64s(values, shape))
}

#[test]
fn numbers_and_ranges_give_views() {
    let x = cube();
    let y = index(&x, &[Index::At(-1), Index::Range(Some(1), None), Index::All]).unwrap();
    assert!(y.shares_storage(&x));
    assert_eq!((y.shape(), numbers(&y)[0]), (&[2, 4][..], 16.0));
    let wide = index(&x, &[Index::Ellipsis, Index::At(0), Index::New]).unwrap();
    assert_eq!(wide.shape(), [2, 3, 1]);
    let past = index(&x, &[Index::Range(Some(-1), Some(99))]).unwrap();
    assert_eq!(past.shape(), [1, 3, 4]);
    assert_eq!(index(&x, &[Index::Range(Some(5), Some(1))]).unwrap().shape(), [0, 3, 4]);
}

#[test]
fn index_tensors_choose_as_in_pytorch() {
    let x = cube();
    assert_eq!(pick(&x, &[t(&[1, -2], &[2]), Index::At(0), Index::At(3)]), (vec![2], vec![15.0, 3.0]));
    assert_eq!(pick(&x, &[Index::At(0), t(&[2, 0], &[2, 1]), Index::At(1)]), (vec![2, 1], vec![9.0, 1.0]));
    // Index tensors side by side stay where they are; apart from each other they come first.
    let (shape, _) = pick(&x, &[Index::All, t(&[0, 1], &[2]), t(&[3, 3], &[2])]);
    assert_eq!(shape, [2, 2]);
    assert_eq!(
        pick(&x, &[t(&[0, 1], &[2]), Index::Range(Some(0), Some(2)), t(&[3, 0], &[2])]),
        (vec![2, 2], vec![3.0, 7.0, 12.0, 16.0])
    );
    assert_eq!(pick(&x, &[t(&[], &[0])]).0, [0, 3, 4]);
    assert_eq!(
        pick(&permute::reversed(&x).unwrap(), &[t(&[3], &[1]), t(&[1], &[1])]),
        (vec![1, 2], vec![7.0, 19.0])
    );
}

#[test]
fn masks_choose_what_is_true() {
    let x = f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]);
    let rows = mask(&[1, 0, 1], &[3]);
    assert_eq!(pick(&x, &[Index::Tensor(rows.clone())]), (vec![2, 2], vec![1.0, 2.0, 5.0, 6.0]));
    assert_eq!(pick(&x, &[Index::Tensor(rows), Index::At(1)]), (vec![2], vec![2.0, 6.0]));
    let all = mask(&[0, 1, 1, 0, 0, 1], &[3, 2]);
    assert_eq!(pick(&x, &[Index::Tensor(all.clone())]), (vec![3], vec![2.0, 3.0, 6.0]));
    assert_eq!(numbers(&masked_select(&x, &all).unwrap()), [2.0, 3.0, 6.0]);
    assert_eq!(numbers(&positions(&all).unwrap()), [1.0, 2.0, 5.0]);
    assert_eq!(shown(&nonzero(&all).unwrap()), "tensor([[0, 1],\n        [1, 0],\n        [2, 1]])");
    // Masks that lie apart in memory, or are one value repeated.
    let column = part::select(&all, 1, 1).unwrap();
    assert_eq!(numbers(&positions(&column).unwrap()), [0.0, 2.0]);
    assert_eq!(pick(&x, &[Index::Tensor(column)]), (vec![2, 2], vec![1.0, 2.0, 5.0, 6.0]));
    let repeated = view::expand_to(&mask(&[1], &[1, 1]), &[3, 2]).unwrap();
    assert_eq!(numbers(&masked_select(&x, &repeated).unwrap()), numbers(&x));
    assert_eq!(
        numbers(&positions(&view::expand_to(&mask(&[1], &[1]), &[3]).unwrap()).unwrap()),
        [0.0, 1.0, 2.0]
    );
    assert_eq!(nonzero_columns(&all).unwrap().len(), 2);
    assert_eq!(nonzero(&f32s(&[3.0], &[])).unwrap().shape(), [1, 0]);
    assert_eq!(nonzero(&f32s(&[], &[0, 2])).unwrap().shape(), [0, 2]);
}

#[test]
fn values_are_written_at_any_index() {
    let x = cube();
    let put = |at: &[Index], value: Operand, accumulate| {
        let y = convert::cloned(&x).unwrap();
        index_put_(&y, at, value, accumulate).unwrap();
        let before = numbers(&x);
        numbers(&y).into_iter().zip(before).filter(|(a, b)| a != b).map(|(a, _)| a).collect::<Vec<_>>()
    };
    let number = |v: f64| Operand::Scalar(v.into());
    assert_eq!(
        put(&[Index::At(1), Index::At(2), Index::Range(Some(1), Some(3))], number(-1.0), false),
        [-1.0; 2]
    );
    assert_eq!(put(&[t(&[0, 1], &[2]), t(&[-1, 0], &[2]), Index::At(0)], number(-1.0), false), [-1.0; 2]);
    assert_eq!(put(&[t(&[0, 1], &[2]), Index::All, t(&[0, 1], &[2])], number(-1.0), false), [-1.0; 6]);
    let value = f32s(&[-1.0, -2.0, -3.0, -4.0], &[4]);
    assert_eq!(put(&[Index::At(0), t(&[2], &[1])], (&value).into(), false), [-1.0, -2.0, -3.0, -4.0]);
    let twice = put(&[t(&[0, 0], &[2]), Index::At(0), Index::At(0)], number(5.0), true);
    assert_eq!(twice, [10.0], "equal places add up");
    let flipped = permute::transpose(&x, 0, 2).unwrap();
    let y = convert::cloned(&x).unwrap();
    let turned = permute::transpose(&y, 0, 2).unwrap();
    index_put_(&turned, &[t(&[3, 0], &[2]), t(&[1, 1], &[2])], number(-1.0), false).unwrap();
    assert_eq!(numbers(&flipped).len(), 24);
    assert_eq!(
        numbers(&index(&y, &[Index::All, Index::At(1)]).unwrap()),
        [-1.0, 5.0, 6.0, -1.0, -1.0, 17.0, 18.0, -1.0]
    );
}

#[test]
fn masks_are_written_without_counting() {
    let x = f32s(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    index_put_(&x, &[Index::Tensor(mask(&[1, 0], &[2]))], Operand::Scalar(0.into()), false).unwrap();
    assert_eq!(numbers(&x), [0.0, 0.0, 3.0, 4.0]);
    let value = f32s(&[8.0, 9.0], &[2]);
    let all = Index::Tensor(mask(&[0, 1, 0, 1], &[2, 2]));
    index_put_(&x, &[all], (&value).into(), false).unwrap();
    assert_eq!(numbers(&x), [0.0, 8.0, 3.0, 9.0]);
}

#[test]
fn a_scripts_values_name_indices() {
    let number = |i: i64| Value::Scalar(i.into());
    let x = cube();
    let at = Index::list(&Value::List(vec![number(1), Value::Range(Some(0), Some(2)), Value::None])).unwrap();
    assert_eq!(index(&x, &at).unwrap().shape(), [2, 4]);
    let rows = Index::of(&Value::List(vec![number(1), number(0)])).unwrap();
    assert_eq!(index(&x, &[rows]).unwrap().shape(), [2, 3, 4]);
    let chosen =
        Index::of(&Value::List(vec![Value::Scalar(true.into()), Value::Scalar(false.into())])).unwrap();
    assert_eq!(index(&x, &[chosen]).unwrap().shape(), [1, 3, 4]);
    assert!(
        failure(Index::of(&Value::Scalar(1.5.into()))).starts_with("IndexError: a float cannot be an index")
    );
}

#[test]
fn indices_that_cannot_be_are_named() {
    let x = f32s(&[1.0; 6], &[3, 2]);
    let fails = |at: &[Index]| failure(index(&x, at));
    let out = "IndexError: index 5 is out of bounds for dimension 0 with size 3";
    assert_eq!(fails(&[Index::At(5)]), out);
    assert_eq!(fails(&[t(&[0, 5], &[2])]), out);
    assert_eq!(fails(&[t(&[5], &[1]), t(&[0], &[1])]), out);
    assert_eq!(fails(&[t(&[-4], &[1])]), "IndexError: index -4 is out of bounds for dimension 0 with size 3");
    assert_eq!(
        fails(&[Index::All, Index::At(2)]),
        "IndexError: index 2 is out of bounds for dimension 1 with size 2"
    );
    assert_eq!(
        fails(&[t(&[0, 0], &[2]), t(&[0, 1, 1], &[3])]),
        "IndexError: shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]"
    );
    assert_eq!(
        fails(&[Index::At(0), Index::At(0), Index::At(0)]),
        "IndexError: too many indices for tensor of dimension 2"
    );
    assert_eq!(
        fails(&[Index::Tensor(mask(&[1, 0], &[2]))]),
        "IndexError: The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [3, 2] at index 0"
    );
    assert_eq!(
        fails(&[Index::Tensor(f32s(&[0.5], &[1]))]),
        "IndexError: tensors used as indices must be long, int, byte or bool tensors"
    );
    let put = failure(index_put_(&x, &[t(&[7], &[1])], Operand::Scalar(1.into()), false));
    assert_eq!(put, "IndexError: index 7 is out of bounds for dimension 0 with size 3");
    assert!(failure(index(&f32s(&[1.0], &[]), &[Index::At(0)])).contains("invalid index of a 0-dim tensor"));
}

#[test]
fn gather_and_scatter_check_their_indices() {
    let x = f32s(&[1.0; 6], &[3, 2]);
    assert_eq!(
        failure(along_dim::gather(&x, 0, &i64s(&[5, 0], &[1, 2]))),
        "RuntimeError: index 5 is out of bounds for dimension 0 with size 3"
    );
    assert_eq!(
        failure(select::index_select(&x, 0, &i64s(&[5], &[1]))),
        "IndexError: index out of range in self"
    );
    assert_eq!(
        failure(along_dim::scatter(&x, 0, &i64s(&[0], &[1]), Operand::Scalar(1.into()))),
        "RuntimeError: Index tensor must have the same number of dimensions as self tensor"
    );
    assert_eq!(
        failure(sort::one_hot(&i64s(&[0, 3], &[2]), 2)),
        "RuntimeError: Class values must be smaller than num_classes."
    );
    assert_eq!(
        failure(sort::one_hot(&i64s(&[0, -3], &[2]), 2)),
        "RuntimeError: Class values must be non-negative."
    );
    assert_eq!(failure(sort::topk(&x, 5, -1, true)), "RuntimeError: selected index k out of range");
}
