//! The modules of one crate, read from its sources: their items, imports and the names that their code uses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, UseTree, Visibility};

use crate::repo::Repo;

/// The sources of one crate without its tests.
pub(super) struct Crate {
    modules: Vec<Module>,
    files: Vec<String>,
    edges: Vec<Edge>,
    public_types: Vec<(String, usize)>,
}

/// A use of a name by one file that another file defines.
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) name: String,
}

#[derive(Default)]
struct Module {
    /// Names from the crate's root: `["session", "builder"]`.
    path: Vec<String>,
    file: usize,
    items: BTreeSet<String>,
    /// Imported names and the paths behind them, as written.
    imports: BTreeMap<String, Vec<String>>,
    /// Imported names that are handed on (`pub use`): the module does not use them by that.
    re_exports: BTreeSet<String>,
    /// Modules of which all names are imported.
    globs: Vec<Vec<String>>,
    /// Paths in code, as written.
    uses: BTreeSet<Vec<String>>,
}

/// How often a name may be re-exported before it is given up, in case two modules re-export each other.
const RE_EXPORTS_MAX: usize = 8;

impl Crate {
    pub(super) fn read(repo: &Repo, name: &str) -> Result<Self> {
        let folder = repo.path("crates").join(name).join("src");
        let root = if folder.join("lib.rs").is_file() { "lib.rs" } else { "main.rs" };
        Self::read_from(root, &|file| {
            let path = folder.join(file);
            path.is_file().then(|| std::fs::read_to_string(&path).with_context(|| path.display().to_string()))
        })
    }

    /// Reads a crate whose files are given as texts.
    #[cfg(test)]
    pub(super) fn of_texts(files: &[(&str, &str)]) -> Self {
        let read = |wanted: &str| {
            let found = files.iter().find(|(file, _)| *file == wanted);
            found.map(|(_, text)| Ok((*text).to_owned()))
        };
        Self::read_from(files[0].0, &read).unwrap()
    }

    fn read_from(root: &str, read: &dyn Fn(&str) -> Option<Result<String>>) -> Result<Self> {
        let mut reader = Reader { read, modules: Vec::new(), files: Vec::new(), public_types: Vec::new() };
        reader.file(root, Vec::new())?;
        let Reader { modules, files, public_types, .. } = reader;
        let mut sources = Self { modules, files, edges: Vec::new(), public_types };
        sources.edges = sources.find_edges();
        Ok(sources)
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    pub(super) fn file_count(&self) -> usize {
        self.files.len()
    }

    pub(super) fn file(&self, index: usize) -> &str {
        &self.files[index]
    }

    /// Names the modules that the crate's root declares.
    pub(super) fn top_level_modules(&self) -> BTreeSet<String> {
        self.modules.iter().filter_map(|module| module.path.first().cloned()).collect()
    }

    /// The top-level module that a file belongs to; empty for the crate's root.
    pub(super) fn top_level_of(&self, file: usize) -> &str {
        let module = self.modules.iter().find(|module| module.file == file);
        module.and_then(|module| module.path.first()).map_or("", String::as_str)
    }

    /// Names each public type with its file.
    pub(super) fn public_types(&self) -> impl Iterator<Item = (&str, &str)> {
        self.public_types.iter().map(|(name, file)| (name.as_str(), self.file(*file)))
    }

    fn find_edges(&self) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (index, module) in self.modules.iter().enumerate() {
            let used = module.imports.iter().filter(|(name, _)| !module.re_exports.contains(*name));
            for path in used.map(|(_, path)| path).chain(&module.globs).chain(&module.uses) {
                let Some((target, item)) = self.resolve(index, path, RE_EXPORTS_MAX) else { continue };
                let (from, to) = (module.file, self.modules[target].file);
                // A module that is imported is used where its name stands in a path.
                if let Some(name) = item.filter(|_| from != to) {
                    edges.push(Edge { from, to, name });
                }
            }
        }
        edges
    }

    /// Finds the module that defines the item at the end of `path`, and the item's name; no name for a module.
    fn resolve(&self, from: usize, path: &[String], n_left: usize) -> Option<(usize, Option<String>)> {
        let (first, rest) = path.split_first()?;
        let here = &self.modules[from].path;
        let (start, rest) = match first.as_str() {
            "crate" => (0, rest),
            "self" => (from, rest),
            "super" => (self.find(here.split_last()?.1)?, rest),
            _ => (from, path),
        };
        let is_relative = start == from && first != "self";
        if rest.first().is_some_and(|name| name == "super") {
            return self.resolve(start, rest, n_left);
        }
        self.walk(start, rest, is_relative, n_left)
    }

    fn walk(&self, start: usize, path: &[String], must_exist: bool, n_left: usize) -> Option<(usize, Option<String>)> {
        let Some((name, rest)) = path.split_first() else { return Some((start, None)) };
        let module = &self.modules[start];
        let child: Vec<String> = module.path.iter().chain([name]).cloned().collect();
        if let Some(child) = self.find(&child) {
            return self.walk(child, rest, false, n_left);
        }
        if module.items.contains(name) {
            return Some((start, Some(name.clone())));
        }
        let n_left = n_left.checked_sub(1)?;
        if let Some(import) = module.imports.get(name).filter(|import| *import != path) {
            let whole: Vec<String> = import.iter().chain(rest).cloned().collect();
            return self.resolve(start, &whole, n_left);
        }
        for glob in &module.globs {
            let whole: Vec<String> = glob.iter().chain(path).cloned().collect();
            let found = self.resolve(start, &whole, n_left);
            if let Some((target, Some(item))) = found.filter(|(target, _)| self.modules[*target].items.contains(name)) {
                return Some((target, Some(item)));
            }
        }
        // Made by a macro, or a name of another crate.
        (!must_exist).then(|| (start, Some(name.clone())))
    }

    fn find(&self, path: &[String]) -> Option<usize> {
        self.modules.iter().position(|module| module.path == path)
    }
}

struct Reader<'a> {
    read: &'a dyn Fn(&str) -> Option<Result<String>>,
    modules: Vec<Module>,
    files: Vec<String>,
    public_types: Vec<(String, usize)>,
}

impl Reader<'_> {
    fn file(&mut self, file: &str, path: Vec<String>) -> Result<()> {
        let text = (self.read)(file).with_context(|| format!("no file {file}"))??;
        let syntax = syn::parse_file(&text).with_context(|| file.to_owned())?;
        self.files.push(file.to_owned());
        let index = self.files.len() - 1;
        self.module(path, index, file, &syntax.items)
    }

    fn module(&mut self, path: Vec<String>, file: usize, file_name: &str, items: &[Item]) -> Result<()> {
        let mut module = Module { path: path.clone(), file, ..Module::default() };
        let mut children = Vec::new();
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            match item {
                Item::Use(import) => {
                    let mut imported = Module::default();
                    collect_imports(&import.tree, &mut Vec::new(), &mut imported);
                    if !matches!(import.vis, Visibility::Inherited) {
                        module.re_exports.extend(imported.imports.keys().cloned());
                    }
                    module.imports.extend(imported.imports);
                    module.globs.extend(imported.globs);
                }
                Item::Mod(child) => children.push(child),
                _ => {
                    module.items.extend(name_of(item));
                    self.public_types.extend(public_type(item).map(|name| (name, file)));
                    Uses(&mut module.uses).visit_item(item);
                }
            }
        }
        self.modules.push(module);
        for child in children {
            self.child(child, &path, file, file_name)?;
        }
        Ok(())
    }

    fn child(&mut self, child: &ItemMod, parent: &[String], file: usize, file_name: &str) -> Result<()> {
        let name = child.ident.to_string();
        let path: Vec<String> = parent.iter().cloned().chain([name.clone()]).collect();
        if let Some((_, items)) = &child.content {
            return self.module(path, file, file_name, items);
        }
        let folder = Path::new(file_name).parent().unwrap_or(Path::new(""));
        let stem = Path::new(file_name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = if matches!(&*stem, "lib" | "main" | "mod") { folder.to_owned() } else { folder.join(stem) };
        let candidates = [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
        let candidates = candidates.map(|file| file.to_string_lossy().into_owned());
        let found = candidates.iter().find(|file| (self.read)(file).is_some());
        self.file(found.with_context(|| format!("no file for module {}", path.join("::")))?, path)
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The item exists in tests only: `#[cfg(test)]`, also with further conditions.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_condition = attribute.path().is_ident("cfg");
        is_condition && attribute.meta.require_list().is_ok_and(|list| has_word(list.tokens.clone(), "test"))
    })
}

fn has_word(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => has_word(group.stream(), word),
        _ => false,
    })
}

fn name_of(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

fn public_type(item: &Item) -> Option<String> {
    let visibility = match item {
        Item::Enum(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        Item::Union(item) => &item.vis,
        _ => return None,
    };
    matches!(visibility, Visibility::Public(_)).then(|| name_of(item))?
}

fn collect_imports(tree: &UseTree, before: &mut Vec<String>, module: &mut Module) {
    let mut import = |name: String, path: &[String]| drop(module.imports.insert(name, path.to_vec()));
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            collect_imports(&path.tree, before, module);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => import(before.last().cloned().unwrap_or_default(), before),
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            import(name.clone(), &[&before[..], &[name]].concat());
        }
        UseTree::Rename(rename) => {
            import(rename.rename.to_string(), &[&before[..], &[rename.ident.to_string()]].concat());
        }
        UseTree::Glob(_) => module.globs.push(before.clone()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| collect_imports(tree, before, module)),
    }
}

/// Collects every path of an item's code, those inside of macro calls too.
struct Uses<'a>(&'a mut BTreeSet<Vec<String>>);

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test(attributes(item)) {
            return;
        }
        // An import inside of a function is one more path.
        if let Item::Use(import) = item {
            let mut local = Module::default();
            collect_imports(&import.tree, &mut Vec::new(), &mut local);
            self.0.extend(local.imports.into_values().chain(local.globs));
        }
        visit::visit_item(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            self.0.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

impl Uses<'_> {
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut is_after_colons = false;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if !is_after_colons {
                        self.end(&mut path);
                    }
                    path.push(ident.to_string());
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    is_after_colons = true;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.end(&mut path);
                    self.tokens(group.stream());
                }
                _ => self.end(&mut path),
            }
            is_after_colons = false;
        }
        self.end(&mut path);
    }

    fn end(&mut self, path: &mut Vec<String>) {
        if path.len() > 1 {
            self.0.insert(path.clone());
        }
        path.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let sources = Crate::of_texts(files);
        let shown = |edge: &Edge| format!("{} -> {}: {}", sources.file(edge.from), sources.file(edge.to), edge.name);
        let found: BTreeSet<String> = sources.edges().iter().map(shown).collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_re_export_leads_to_the_file_that_defines_the_name() {
        check(
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a/mod.rs", "mod inner; pub use inner::Deep;"),
                ("a/inner.rs", "pub struct Deep;"),
                ("b.rs", "use crate::a; fn f(_: a::Deep) {}"),
            ],
            &["b.rs -> a/inner.rs: Deep"],
        );
    }

    #[test]
    fn names_in_code_macros_and_imports_are_found() {
        check(
            &[
                ("lib.rs", "mod a; mod b; mod c; mod d;"),
                ("a.rs", "fn f() { use super::b::B as _; crate::c::run(); println!(\"{}\", crate::d::ONE); }"),
                ("b.rs", "pub(crate) trait B {}"),
                ("c.rs", "pub(crate) fn run() {}"),
                ("d.rs", "pub(crate) const ONE: u8 = 1;"),
            ],
            &["a.rs -> b.rs: B", "a.rs -> c.rs: run", "a.rs -> d.rs: ONE"],
        );
    }

    #[test]
    fn tests_and_other_crates_are_left_out() {
        check(
            &[
                ("lib.rs", "mod a; mod b;"),
                (
                    "a.rs",
                    "use std::fmt; use b::Thing; #[cfg(test)] mod tests; #[cfg(all(test, unix))] use crate::b::B;",
                ),
                ("b.rs", "pub(crate) struct B;"),
            ],
            &[],
        );
    }

    #[test]
    fn files_of_a_module_use_their_parent_by_super() {
        check(
            &[
                ("lib.rs", "mod a;"),
                ("a.rs", "mod one; pub(crate) struct A;"),
                ("a/one.rs", "mod two { fn f(_: super::super::A) {} } fn g() { two::f() }"),
            ],
            &["a/one.rs -> a.rs: A"],
        );
    }
}
