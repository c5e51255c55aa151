//! Tests with tokio, files and sockets.

mod abuse;
mod access;
mod documents;
mod files;
mod routes;
mod streams;
mod wire;
