//! `/canvas` of `emend attach`: the file that the agent edits line by line under a lease.

use serde_json::{Value, json};

use super::attach::{Seat, word};
use crate::failure::Failure;

impl Seat<'_> {
    /// Shows the canvas, opens a file in it and gives the agent the canvas tools, or takes them away: `off`.
    pub(super) async fn canvas(&mut self, wanted: &str) -> Result<(), Failure> {
        let session = self.client.get(&self.own_path()).await?;
        match wanted {
            "" => {
                let canvas = self.client.get(&self.path("canvas")).await?;
                self.print(&format!("{}{TOLD}", state_of(&session, &canvas)))
            }
            "off" => {
                self.give_canvas_tools(false).await?;
                let opened = self.opened.take();
                let canvas = self.client.get(&self.path("canvas")).await?;
                let mut stays = String::new();
                // The canvas is that of all clients: another one may show a file of its own by now.
                if opened.is_some_and(|path| canvas["file_path"] == path.as_str()) {
                    self.client.post(&self.path("canvas/open"), json!({ "file_path": null })).await?;
                } else if !canvas["file_path"].is_null() {
                    stays = format!("; {} stays open, which another client shows", word(&canvas["file_path"]));
                }
                self.print(&format!("the agent has no canvas tools, from the next job on{stays}\n"))
            }
            path => {
                let canvas = self.client.post(&self.path("canvas/open"), json!({ "file_path": path })).await?;
                self.opened = canvas["file_path"].as_str().map(str::to_owned);
                if session["canvas"]["tools"] != true {
                    let given = self.give_canvas_tools(true).await;
                    given.map_err(|failure| Failure {
                        message: format!("{path} is open, but without the canvas tools: {}", failure.message),
                        ..failure
                    })?;
                }
                self.print(&format!(
                    "{} is open in the canvas; the agent has the canvas tools, from the next job on\n",
                    word(&canvas["file_path"])
                ))
            }
        }
    }

    async fn give_canvas_tools(&self, has_them: bool) -> Result<Value, Failure> {
        let flags = json!({ "tools": has_them, "enforce_lease": has_them });
        self.client.patch(&self.own_path(), json!({ "canvas": flags })).await
    }
}

const TOLD: &str = "/canvas FILE opens a file with the canvas tools, /canvas off takes the tools away\n";

/// Returns the lines about the canvas and its tools.
fn state_of(session: &Value, canvas: &Value) -> String {
    let file = match canvas["file_path"].as_str() {
        Some(path) if canvas["held"] == true => format!("{path} is open in the canvas; an agent edits it\n"),
        Some(path) => format!("{path} is open in the canvas\n"),
        None => "no file is open in the canvas\n".to_owned(),
    };
    let has = if session["canvas"]["tools"] == true { "the" } else { "no" };
    format!("{file}the agent has {has} canvas tools\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_names_file_holder_and_tools() {
        for (tools, canvas, expected) in [
            (
                true,
                json!({ "file_path": "a.md", "held": true }),
                "a.md is open in the canvas; an agent edits it\nthe agent has the canvas tools\n",
            ),
            (
                true,
                json!({ "file_path": "a.md", "held": false }),
                "a.md is open in the canvas\nthe agent has the canvas tools\n",
            ),
            (
                false,
                json!({ "file_path": null, "held": false }),
                "no file is open in the canvas\nthe agent has no canvas tools\n",
            ),
        ] {
            assert_eq!(state_of(&json!({ "canvas": { "tools": tools } }), &canvas), expected);
        }
    }
}
