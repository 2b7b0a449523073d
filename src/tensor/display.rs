//! Printed forms, to the character as PyTorch has them.
