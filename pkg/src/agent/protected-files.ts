/**
 * Files that programs run or obey by themselves: a write to one is asked about even where rules allow edits.
 *
 * git, editors, shells and coding agents read these files without a command of the user, so that an undo comes too late.
 * The command line has the same list, in `crates/emend-cli/src/obeyed.rs`. It also knows the files that
 * settings of git name in one project, repositories under other names, and targets of links; an environment cannot be asked
 * for them.
 */

import type { PolicyRule } from "./options.js";

/** Names of files and directories, in any directory and in upper or lower case. A directory stands for all that is in it. */
export const PROTECTED_NAMES: readonly string[] = [
  // The rules themselves, and what Emend keeps for an undo.
  ".emend.toml",
  ".config/emend",
  ".local/state/emend",
  // Settings of shells, also those that a shell loads when it enters a directory.
  ".profile",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".bash_aliases",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".zlogout",
  ".kshrc",
  ".cshrc",
  ".tcshrc",
  ".login",
  ".xonshrc",
  ".inputrc",
  ".config/fish",
  ".config/powershell",
  ".config/nushell",
  ".config/xonsh",
  ".config/elvish",
  ".elvish",
  ".mkshrc",
  ".bash_completion",
  ".pam_environment",
  ".envrc",
  ".autoenv",
  ".autoenv.zsh",
  ".env.fish",
  ".direnvrc",
  ".config/direnv",
  ".mise.toml",
  "mise.toml",
  "mise.*.toml",
  ".mise.*.toml",
  ".mise",
  ".config/mise",
  ".autoenv_leave.zsh",
  ".env.leave",
  // Programs that start with a session, and access from elsewhere.
  ".xprofile",
  ".xinitrc",
  ".xsession",
  ".xsessionrc",
  ".config/autostart",
  ".config/systemd",
  ".tmux.conf",
  ".config/tmux",
  ".screenrc",
  ".ssh",
  // Version control and its hooks.
  ".gitconfig",
  ".config/git",
  ".git",
  ".gitmodules",
  ".gitattributes",
  ".hg",
  ".hgrc",
  ".jj/config",
  ".jj/repo/config",
  ".sl/config",
  ".svn",
  ".jj/repo/config.toml",
  ".githooks",
  ".husky",
  ".pre-commit-config.yaml",
  "lefthook.*",
  ".lefthook.*",
  ".lefthook",
  "lefthook-local.*",
  ".overcommit.yml",
  ".simple-git-hooks.json",
  "captainhook.json",
  "grumphp.yml",
  // Tasks and settings of editors.
  ".idea",
  ".run",
  ".fleet",
  ".vscode",
  "*.code-workspace",
  ".zed",
  ".config/zed",
  ".vscodium",
  "*.sublime-project",
  "*.sublime-build",
  ".theia",
  ".devcontainer",
  ".devcontainer.json",
  ".vimrc",
  ".vimrc.local",
  ".local.vimrc",
  ".lvimrc",
  ".exrc",
  ".nvimrc",
  ".nvim.lua",
  ".vim",
  ".config/nvim",
  ".helix",
  ".config/helix",
  ".vs",
  ".emacs",
  ".emacs.d",
  ".config/emacs",
  ".dir-locals.el",
  ".dir-locals-2.el",
  // Settings of other coding agents, which name programs to run.
  ".mcp.json",
  ".claude",
  ".codex",
  ".cursor",
  ".gemini",
  ".kiro",
  ".roo",
];

/** The name of a file without which a directory is not a repository. Directories of this name are of no interest to git. */
const REPOSITORY = "head";

const NAMES_REGEXP = PROTECTED_NAMES.map((name) => name.replace(/\./g, "\\.").replace("*", "[^/]*")).join("|");
const PROTECTED = new RegExp(`^(?:.*/)?(?:(?:${NAMES_REGEXP})(?:/.+)?|${REPOSITORY})$`, "is");

/** Returns whether this path, or this pattern for paths, names such a file: `.git/hooks/*` does, `src/**` does not. */
export function isProtected(path: string): boolean {
  return PROTECTED.test(path);
}

/** Matches all such files. The core itself ignores the case of names on macOS and Windows, faster than by this. */
const CASELESS_GLOB = `**/{${REPOSITORY},{${PROTECTED_NAMES.join(",")}}{,/**}}`;
/** Some file systems of other platforms ignore it, too. */
const GLOB = CASELESS_GLOB.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);

/** Tools that change no files, under the names of all profiles. */
const OTHER_TOOLS: ReadonlySet<string> = new Set(
  `read run read_file read_many_files grep glob list_dir Read Grep Glob LS grep_files grep_search list_directory
   shell Bash exec_command run_shell_command web_fetch WebFetch
   clarify_user request_user_input AskUserQuestion ask_user`.split(/\s+/),
);

/**
 * Adds the rules that ask before a write to such a file. Only a rule that names the file allows it: a general rule that
 * allows it asks instead. A rule that denies it does so as before. `ignoresCase` tells whether the core does, for all rules.
 */
export function withQuestions(policy: readonly PolicyRule[], ignoresCase: boolean): PolicyRule[] {
  const glob = ignoresCase ? CASELESS_GLOB : GLOB;
  const first = policy.findIndex((rule) => isAboutEdits(rule) && isGeneral(rule));
  const at = first === -1 ? policy.length : first;
  const after = policy.slice(at);
  const narrowed: PolicyRule[] = [];
  // The questions of general rules after the last one that denies. A rule that names a file goes before it.
  const asked: PolicyRule[] = [];
  for (const rule of after) {
    if (isGeneral(rule)) {
      asked.push(...narrow(rule, glob));
    } else {
      if (!isNamed(rule)) narrowed.push(...asked.splice(0));
      narrowed.push(...narrow(rule, glob));
    }
  }
  // The last of them ask as the rule for all such files does.
  return [...policy.slice(0, at), ...narrowed, { action: "ask", tool: "edit", pattern: glob }, ...after];
}

function patternOf(rule: PolicyRule): string | undefined {
  return typeof rule?.pattern === "string" ? rule.pattern.trim() : undefined;
}

/** Whether a rule may be about edits. The core reports one that is malformed. */
function isAboutEdits(rule: PolicyRule): boolean {
  return typeof rule?.tool === "string" && !OTHER_TOOLS.has(rule.tool.trim());
}

/** Whether a rule is about such files only. */
function isNamed(rule: PolicyRule): boolean {
  const pattern = patternOf(rule);
  if (pattern === undefined || pattern.startsWith("!")) return false;
  const alternatives = pattern.indexOf("{");
  // Every alternative after this text is such a file, too.
  return isProtected(alternatives === -1 ? pattern : `${pattern.slice(0, alternatives)}x`);
}

/** Whether a rule allows or asks about files without naming such ones. */
function isGeneral(rule: PolicyRule): boolean {
  return rule?.action !== "deny" && !isNamed(rule);
}

/** Returns what a rule says about edits of such files. Where no glob says exactly that, the result is stricter. */
function narrow(rule: PolicyRule, glob: string): PolicyRule[] {
  if (!isAboutEdits(rule)) return [];
  const tool = rule.tool.trim() === "*" ? "edit" : rule.tool;
  if (isNamed(rule)) return [{ ...rule, tool }];
  const denies = rule.action === "deny";
  const below = (directory: string): PolicyRule[] => [
    { action: denies ? "deny" : "ask", tool, pattern: directory + glob },
  ];
  const pattern = patternOf(rule) ?? "**";
  if (/^(?:\*\*\/)?\*\*?$/.test(pattern)) return below("");
  const [, above = "", name, end] = /^(?:\.\/)?(\*\*\/)?([^*?[\]{}\\!]+?)(\/\*\*|\/)?$/.exec(pattern) ?? [];
  if (name === undefined) return denies ? below("") : [];
  if (end === "/**") return below(`${above}${name}/`);
  // A rule that denies a directory denies all that is in it. A name without a directory may be anywhere.
  return denies ? below(`${name.includes("/") ? above : "**/"}${name}/`) : [];
}
