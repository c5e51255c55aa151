//! A real model: llama.cpp's server with a model of 135 million parameters, which answers with words that make some
//! sense. The client talks to it in three formats, natively and from a page, and has it call a tool.

use anyhow::Result;

use super::context::Context;
use super::counts::Counts;
use super::http::in_page;
use super::native::worth_showing;
use crate::llama::Server;
use crate::process::command;
use crate::progress::say;
use crate::setup::llama;

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let server = Server::start(context.repo, &llama::set_up(context.repo)?)?;
    say!("the model answers at {}", server.url);
    let mut cargo = command("cargo", context.repo.root());
    // One at a time: the model has one place, and few processors to think with.
    cargo.args(["test", "-p", "emend-tests", "--test", "http", "--", "llama::", "--show-output", "--test-threads=1"]);
    let show = |line: &str| worth_showing(line) || line.starts_with("the model called");
    let output = context.program("llama", cargo.env("EMEND_LLAMA", &server.url), show)?;
    let native = Counts::from_libtest(&output.text).of_program(output.success);
    Ok(native + in_page(context, "llama", ("EMEND_LLAMA", &server.url))?)
}
