//! The store contract over etcd.
