//! Modules, layers, functional forms, initialisers.
