//! Printed forms, to the character as PyTorch has them.
pub fn display(t: &super::Tensor) -> crate::base::Result<String> {
    Ok(format!("{t:?}"))
}
