//! Evaluates the licence expression of a package, in the forms that manifests use.

/// Tells whether the licences in `allowed` permit the use of a package under `expression`.
///
/// `OR` and the older `/` give a choice, `AND` takes both sides, and `X WITH Y` is one licence of its own.
pub(super) fn permits(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let result = any_of(&mut words, allowed);
    // Words that are left over mean that the expression was not understood; that is not a permission.
    result && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut result = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        result |= all_of(words, allowed);
    }
    result
}

fn all_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut result = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        result &= one(words, allowed);
    }
    result
}

fn one(words: &mut Words<'_>, allowed: &[String]) -> bool {
    match words.next() {
        Some("(") => {
            let result = any_of(words, allowed);
            words.next_if_eq(&")").is_some() && result
        }
        Some(licence) => {
            let with = words.next_if_eq(&"WITH").and_then(|_| words.next());
            let name = with.map_or_else(|| licence.to_owned(), |exception| format!("{licence} WITH {exception}"));
            allowed.contains(&name)
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, expected: bool) {
        let allowed = ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        assert_eq!(permits(expression, &allowed), expected, "{expression}");
    }

    #[test]
    fn choices_need_one_side_and_conjunctions_both() {
        check("MIT", true);
        check("GPL-3.0", false);
        check("GPL-3.0 OR MIT", true);
        check("Apache-2.0/MIT", true);
        check("MIT AND GPL-3.0", false);
        check("(MIT OR Apache-2.0) AND Unicode-3.0", true);
        check("(MIT OR Apache-2.0) AND ISC", false);
        check("GPL-3.0 OR MIT AND Unicode-3.0", true);
    }

    #[test]
    fn a_licence_with_an_exception_is_its_own() {
        check("Apache-2.0 WITH LLVM-exception", true);
        check("Apache-2.0", false);
        check("MIT WITH Some-exception", false);
    }

    #[test]
    fn what_is_not_understood_is_not_permitted() {
        check("", false);
        check("MIT MIT", false);
        check("(MIT", false);
        check("MIT)", false);
    }
}
