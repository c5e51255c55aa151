//! The matrix as a document, and its requests held to the providers' own schemas.

use std::fmt::Write as _;
use std::path::PathBuf;

use expect_test::expect_file;
use futures::executor::block_on;

use crate::checklist::covers;
use crate::parity::{Cell, FAMILIES, ROWS};
use crate::wire_encode::{Sample, python, validate};

const HEAD: &str = "\
# Parity of the families

The validation matrix of the agent loop's specification (9.12). Each cell is a session that runs the task with that
family's own tools, names and edit format, over its adapter and a model that follows a script in the provider's wire
format. It passes if the requests name the right address and tools and are valid by the provider's schemas, if the bytes
on the disk are right, and if the events come in the right order. The same cells run natively and in headless Chromium,
where commands run in the emulated shell, and natively once more over HTTP with aimock as the provider (`tests/it/parity`,
`tests/http`). This page is written by a test.

";

#[test]
fn the_matrix_is_written_down_and_its_requests_are_valid() {
    covers("parity.tasks");
    let (mut samples, mut n_skipped) = (Vec::new(), 0);
    let mut table = String::from("| Test case |");
    for family in &FAMILIES {
        let _ = write!(table, " {} |", family.name);
    }
    table.push_str("\n|---|---|---|---|\n");
    for row in &ROWS {
        let _ = write!(table, "| {} |", row.name);
        for family in &FAMILIES {
            match block_on(row.run(family)) {
                Cell::Passed(bodies) => {
                    table.push_str(" passed |");
                    let name = format!("{} for {}", row.name, family.name);
                    samples.extend(bodies.into_iter().map(|body| Sample { name: name.clone(), api: family.api, body }));
                }
                Cell::Skipped => {
                    n_skipped += 1;
                    table.push_str(" skipped: no shell |");
                }
            }
        }
        table.push('\n');
    }
    print!("{table}");
    // The rows say it so that it is counted; here it is only told.
    println!("{n_skipped} of {} cells were not run", ROWS.len() * FAMILIES.len());
    expect_file![concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/parity.md")].assert_eq(&format!("{HEAD}{table}"));
    check_requests(&samples);
}

fn check_requests(samples: &[Sample]) {
    let (wire, python) = (std::env::var_os("EMEND_WIRE").map(PathBuf::from), python());
    let (Some(wire), Some(python)) = (wire, python) else {
        println!("skipped: {} requests (EMEND_WIRE or the Python environment is missing)", samples.len());
        return;
    };
    let results = validate(&python, &wire, samples);
    assert_eq!(results.len(), samples.len(), "the validator stopped early");
    let wrong = samples.iter().zip(&results).filter(|(_, errors)| !errors.is_empty());
    let wrong: String = wrong.map(|(sample, errors)| format!("{}: {}\n", sample.name, errors.join("; "))).collect();
    assert!(wrong.is_empty(), "{wrong}");
    println!("{} requests are valid by the providers' schemas", samples.len());
}
