//! Tests with tokio, files and sockets.

mod access;
mod documents;
mod files;
mod routes;
mod streams;
mod wire;
