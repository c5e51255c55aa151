//! The names of the commands in a conversation.

/// All commands: name, arguments, help.
pub(super) const NAMES: [(&str, &str, &str); 17] = [
    ("/help", "", "show this help"),
    ("/model", "[MODEL]", "show or change the model"),
    ("/effort", "[LEVEL]", "show or change the model's reasoning effort"),
    ("/status", "", "show what the conversation has used, and its limits"),
    ("/budget", "[LIMIT]", "show or set the limit of all messages together: tokens N, cost USD, time TIME, or none"),
    (
        "/permissions",
        "[remove N]",
        "show what you always allow in this conversation, or withdraw one of these permissions",
    ),
    ("/diff", "", "show all changes of this conversation"),
    ("/review", "", "accept or reject changes that wait for review"),
    ("/undo", "", "undo the changes of the last run; your own edits are kept"),
    ("/redo", "", "restore the changes that /undo undid"),
    ("/rewind", "", "go back to before a message: the conversation, the files, or both"),
    ("/compact", "", "free context: drop the output of old tool calls"),
    ("/resume", "[ID]", "continue a saved conversation"),
    (
        "/serve",
        "[lan|ADDRESS]",
        "let browsers and other terminals of this computer join this conversation, until you leave; with `lan`, also \
         phones and computers of the local network. If too many sessions are active, `/serve archive ID` archives one",
    ),
    ("/clear", "", "start a new conversation; this one stays saved"),
    ("/exit", "", "quit; Ctrl-D does the same"),
    ("/quit", "", "quit; emend --resume continues later"),
];
