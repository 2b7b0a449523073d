//! Tensors: views, creation, display, autograd.
