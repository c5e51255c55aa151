//! One table for each language.

use super::{lines, sample};
use crate::{Language, language_of};

#[track_caller]
fn check(language: Language, text: &str, expected: &[&str]) {
    assert_eq!(lines(language, text), expected);
}

#[test]
fn rust() {
    let text = "\
pub const LIMIT: usize = 3;
static NAME: &str = \"a\";
macro_rules! twice { ($x:expr) => { $x } }
mod inner {
    pub(crate) struct Pair<T>(T, T);
}
enum Kind { One, Two }
union Bits { a: u8 }
type Short = Vec<u8>;
trait Shape {
    type Unit;
    fn area(&self) -> f64;
    fn twice(&self) -> f64 { 2.0 * self.area() }
}
impl<T: Clone> Shape
    for inner::Pair<T>
{
    const N: usize = 1;
    fn area(&self) -> f64 {
        const LOCAL: u8 = 1;
        fn helper() {}
        let closure = |x: u8| { const C: u8 = 1; x };
        0.0
    }
}
async fn run() {}
";
    let expected = [
        "1-1 const LIMIT",
        "2-2 var NAME",
        "3-3 macro twice",
        "4-6 mod inner",
        "  5-5 struct Pair",
        "7-7 enum Kind",
        "8-8 union Bits",
        "9-9 type Short",
        "10-14 trait Shape",
        "  11-11 type Unit",
        "  12-12 fn area",
        "  13-13 fn twice",
        "15-25 impl Shape for inner::Pair<T>",
        "  18-18 const N",
        "  19-24 fn area",
        "    21-21 fn helper",
        "26-26 fn run",
    ];
    check(Language::Rust, text, &expected);
}

#[test]
fn javascript() {
    let text = "\
export const LIMIT = 3;
let { a, b } = LIMIT;
export default function main() {
  const local = 1;
  const onClick = () => { const deep = 1; };
}
export class Store extends Base {
  static #count = 0;
  handler = async () => {};
  get size() { return 1; }
  async *[Symbol.iterator]() {}
}
const Button = (props) => <button>{props.x}</button>;
const Named = class {};
module.exports.parse = function (text) {};
const table = { run() {}, stop: function () {}, value: 1 };
describe('x', () => { const inTest = 1; function helper() {} });
";
    let expected = [
        "1-1 const LIMIT",
        "3-6 fn main",
        "  5-5 fn onClick",
        "7-12 class Store",
        "  9-9 fn handler",
        "  10-10 fn size",
        "  11-11 fn [Symbol.iterator]",
        "13-13 fn Button",
        "14-14 class Named",
        "15-15 fn module.exports.parse",
        "16-16 const table",
        "  16-16 fn run",
        "  16-16 fn stop",
        "17-17 fn helper",
    ];
    check(Language::JavaScript, text, &expected);
}

#[test]
fn typescript() {
    let text = "\
export interface Shape<T> { area(): number; readonly name: string }
type Id = string | number;
enum Color { Red, Green }
declare module \"x\" { function f(): void; }
namespace Util.Deep { export const one = 1; }
abstract class Base {
  private handler = (x: number) => x;
  abstract run(): void;
  constructor(readonly id: Id) { super(); }
}
function over(a: string): void;
function over(a: any) {}
const typed: Id = 3;
";
    let expected = [
        "1-1 interface Shape",
        "  1-1 fn area",
        "2-2 type Id",
        "3-3 enum Color",
        "4-4 mod \"x\"",
        "  4-4 fn f",
        "5-5 mod Util.Deep",
        "6-10 class Base",
        "  7-7 fn handler",
        "  8-8 fn run",
        "  9-9 fn constructor",
        "11-11 fn over",
        "12-12 fn over",
        "13-13 const typed",
    ];
    check(Language::TypeScript, text, &expected);
    check(Language::Tsx, text, &expected);
    // An assertion by angle brackets is only in TypeScript without JSX, and an element only with it.
    check(Language::TypeScript, "const f = () => <Id>x;\nfunction g() {}\n", &["1-1 fn f", "2-2 fn g"]);
    check(Language::Tsx, "const F = () => <p>{1}</p>;\nfunction g() {}\n", &["1-1 fn F", "2-2 fn g"]);
}

#[test]
fn python() {
    let text = "\
LIMIT = 3
a, b = 1, 2
class Store(Base):
    field = 1

    @property
    def size(self):
        def inner():
            local = 1
            return local
        return inner

async def run(): pass
key = lambda x: x
if True:
    def later():
        pass
";
    let expected = [
        "1-1 var LIMIT",
        "3-11 class Store",
        "  7-11 fn size",
        "    8-10 fn inner",
        "13-13 fn run",
        "14-14 var key",
        "16-17 fn later",
    ];
    check(Language::Python, text, &expected);
}

#[test]
fn go() {
    let text = "\
package main

const Limit = 3
const (
	A, B = 1, 2
)
var global int
type Server[T any] struct { a int }
type Handler interface {
	Handle(x int) error
}
type Id = string
type Names []string
func (s *Server[T]) Close() error {
	const local = 1
	f := func() { var deep int; _ = deep }
	return nil
}
func (Names) Len() int { return 0 }
func main() {}
";
    let expected = [
        "3-3 const Limit",
        "5-5 const A",
        "5-5 const B",
        "7-7 var global",
        "8-8 struct Server",
        "9-11 interface Handler",
        "12-12 type Id",
        "13-13 type Names",
        "14-18 fn Server.Close",
        "19-19 fn Names.Len",
        "20-20 fn main",
    ];
    check(Language::Go, text, &expected);
}

#[test]
fn c() {
    let text = "\
#ifndef A_H
#define A_H
#define LIMIT 3
#define twice(x) (2 * (x))
struct point { int x; };
struct point origin;
typedef struct { int y; } size_type;
typedef int (*callback)(void *);
enum color { RED, GREEN };
union bits { int a; };
int declared(const char *name);
int (*hook)(int);
static const char **
lines(char **text, int n)
{
  int local(int);
  return 0;
}
#endif
";
    let expected = [
        "3-3 macro LIMIT",
        "4-4 macro twice",
        "5-5 struct point",
        "7-7 type size_type",
        "8-8 type callback",
        "9-9 enum color",
        "10-10 union bits",
        "11-11 declaration declared",
        "13-18 fn lines",
    ];
    check(Language::C, text, &expected);
}

#[test]
fn cpp() {
    let text = "\
namespace geo::flat {
template <typename T>
class Shape : public Base {
 public:
  explicit Shape(int x) : x_(x) {}
  ~Shape();
  bool operator==(const Shape &other) const { return true; }
  virtual double area() const = 0;
};
enum class Mode { on, off };
using Name = std::string;
}
double geo::flat::Shape::area() const {
  auto f = [](int x) { return x; };
  return 0;
}
int &reference(int &x) { return x; }
";
    let expected = [
        "1-12 mod geo::flat",
        "  3-9 class Shape",
        "    5-5 fn Shape",
        "    6-6 declaration ~Shape",
        "    7-7 fn operator==",
        "    8-8 declaration area",
        "  10-10 enum Mode",
        "  11-11 type Name",
        "13-16 fn geo::flat::Shape::area",
        "17-17 fn reference",
    ];
    check(Language::Cpp, text, &expected);
}

#[test]
fn java() {
    let text = "\
package a.b;
public class Store<T> extends Base implements Runnable {
  private int count = 0;
  public Store(int count) { this.count = count; }
  @Override
  public void run() {
    Runnable inner = () -> {};
  }
  enum Mode { ON; void flip() {} }
  record Pair(int a, int b) {}
}
interface Shape { double area(); }
@interface Marker {}
";
    let expected = [
        "2-11 class Store",
        "  4-4 fn Store",
        "  5-8 fn run",
        "  9-9 enum Mode",
        "    9-9 fn flip",
        "  10-10 class Pair",
        "12-12 interface Shape",
        "  12-12 fn area",
        "13-13 interface Marker",
    ];
    check(Language::Java, text, &expected);
}

#[test]
fn every_language_has_a_grammar() {
    for language in Language::ALL {
        let found = lines(language, sample(language));
        assert!(found.iter().any(|line| line.ends_with(" fn inner")), "{language:?}: {found:?}");
    }
}

#[test]
fn the_ending_of_a_name_is_its_language() {
    #[track_caller]
    fn check(path: &str, expected: Option<Language>) {
        assert_eq!(language_of(path), expected);
    }
    check("src/lib.rs", Some(Language::Rust));
    check("a.b.TSX", Some(Language::Tsx));
    check("types.d.ts", Some(Language::TypeScript));
    check("a/b.h", Some(Language::Cpp));
    check("a\\b.c", Some(Language::C));
    check("stubs.pyi", Some(Language::Python));
    check("a.rs/notes.txt", None);
    check(".rs", None);
    check("rs", None);
    check("", None);
}

/// The package chooses the module of a grammar by a table of its own.
#[test]
fn the_package_has_the_same_endings() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../pkg/src/outline/languages.ts");
    let script = std::fs::read_to_string(path).unwrap();
    let (_, table) = script.split_once("= {\n").unwrap();
    let (table, _) = table.split_once("\n};").unwrap();
    let mut n_endings = 0;
    for line in table.lines() {
        let (language, endings) = line.trim().split_once(": ").unwrap();
        for ending in endings.split('"').skip(1).step_by(2) {
            let known = language_of(&format!("a.{ending}")).map(|known| format!("{known:?}").to_lowercase());
            assert_eq!(known.as_deref(), Some(language), "{ending}");
            n_endings += 1;
        }
    }
    let rust = include_str!("../language.rs");
    let (_, arms) = rust.split_once("Some(match").unwrap();
    let (arms, _) = arms.split_once("_ => return None").unwrap();
    let of_crate: usize =
        arms.lines().filter(|line| line.contains("=>")).map(|line| line.matches('"').count() / 2).sum();
    assert_eq!(n_endings, of_crate);
}

/// The package compares the outlines of its modules with the same file.
#[test]
fn outlines_of_whole_and_damaged_texts_are_the_recorded_ones() {
    let samples: Vec<Sample> = serde_json::from_str(include_str!("samples.json")).unwrap();
    for sample in &samples {
        let language = language_of(&sample.path).unwrap();
        assert_eq!(lines(language, &sample.text), sample.outline, "{}: {}", sample.path, sample.text);
    }
    for language in Language::ALL {
        let n_samples = samples.iter().filter(|sample| language_of(&sample.path) == Some(language)).count();
        assert!(n_samples >= 4, "{language:?}: {n_samples}");
    }
}

#[derive(serde::Deserialize)]
struct Sample {
    path: String,
    text: String,
    outline: Vec<String>,
}

#[test]
fn lines_end_as_in_the_rest_of_the_project() {
    for (name, end) in [("LF", "\n"), ("CRLF", "\r\n"), ("CR", "\r")] {
        let text = ["// é", "fn a() {", "}", "fn b() {}", ""].join(end);
        assert_eq!(lines(Language::Rust, &text), ["2-3 fn a", "4-4 fn b"], "{name}");
    }
    let with_mark = "\u{feff}fn a() {}\n";
    assert_eq!(lines(Language::Rust, with_mark), ["1-1 fn a"]);
}

#[test]
fn the_own_name_of_a_symbol_has_no_qualifiers() {
    #[track_caller]
    fn check(language: Language, text: &str, expected: &str) {
        let found = crate::outline(language, text, &crate::Limits::default()).unwrap();
        assert_eq!(found.symbols[0].own_name(), expected);
    }
    check(Language::Go, "package a\nfunc (s *Server) Close() {}\n", "Close");
    check(Language::Cpp, "int a::b::c() { return 1; }\n", "c");
    check(Language::JavaScript, "a.b = function () {}\n", "b");
    check(Language::Rust, "impl fmt::Display for a::B {}\n", "fmt::Display for a::B");
}
