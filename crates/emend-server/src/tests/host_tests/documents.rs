//! Generated documents are current.

use expect_test::expect_file;

#[test]
fn the_openapi_document_is_current() {
    expect_file!["../../../../../docs/openapi.json"].assert_eq(&crate::document());
}

#[test]
fn the_page_of_the_api_is_current() {
    expect_file!["../../../../../docs/http-api.md"].assert_eq(&crate::reference());
}
