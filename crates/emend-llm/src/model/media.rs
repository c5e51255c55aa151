//! Images, audio and documents in requests.
//!
//! Adapters accept URLs and base64 data. Adapters do no I/O, so the host reads local paths first.

use crate::error::{ErrorKind, LlmError};
use crate::model::base64::encode;
use crate::model::{ContentPart, MediaData, Request};

/// The source of a medium.
pub(crate) enum Source<'a> {
    Url(&'a str),
    Data { media_type: &'a str, data: &'a str },
}

impl Source<'_> {
    /// Returns the URL, or the data as a `data:` URL.
    pub(crate) fn as_url(&self) -> String {
        match self {
            Self::Url(url) => (*url).to_owned(),
            Self::Data { media_type, data } => format!("data:{media_type};base64,{data}"),
        }
    }
}

/// Returns whether `url` is the path of a local file: it starts with `/`, `./`, `../`, `~` or `file:`.
#[must_use]
pub fn is_local_path(url: &str) -> bool {
    ["/", "./", "../", "~", "file:"].iter().any(|start| url.starts_with(start)) && !url.starts_with("//")
}

/// MIME types by file extension.
const TYPES: [(&str, &str); 14] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("wav", "audio/wav"),
    ("mp3", "audio/mpeg"),
    ("pdf", "application/pdf"),
    ("txt", "text/plain"),
    ("md", "text/markdown"),
    ("html", "text/html"),
    ("csv", "text/csv"),
];

impl MediaData {
    /// Returns the medium with the contents of a file. Its type follows from the extension, its name from the path.
    #[must_use]
    pub fn from_file(path: &str, bytes: &[u8]) -> Self {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
        let media_type = TYPES.iter().find(|(known, _)| *known == ending).map(|(_, name)| (*name).to_owned());
        Self { data: Some(encode(bytes)), media_type, file_name: Some(name.to_owned()), ..Self::default() }
    }
}

impl Request {
    /// Returns the media that name local files. A host reads each and replaces it by [`MediaData::from_file`].
    pub fn local_media(&mut self) -> impl Iterator<Item = &mut MediaData> {
        let parts = self.messages.iter_mut().flat_map(|message| &mut message.content);
        parts
            .filter_map(|part| match part {
                ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::Document(media) => Some(media),
                ContentPart::ToolResult(result) => result.image.as_mut(),
                _ => None,
            })
            .filter(|media| media.url.as_deref().is_some_and(is_local_path))
    }
}

/// Returns the source of `media`. Data without a type gets `default_type`.
pub(crate) fn source<'a>(media: &'a MediaData, default_type: &'a str) -> Result<Source<'a>, LlmError> {
    let invalid = |message: String| Err(LlmError::new(ErrorKind::InvalidRequest, message));
    match (&media.url, &media.data) {
        (None, Some(data)) => {
            Ok(Source::Data { media_type: media.media_type.as_deref().unwrap_or(default_type), data })
        }
        (Some(url), None) if is_local_path(url) => {
            invalid(format!("{url} is a local file: read it and pass its bytes as base64 `data`"))
        }
        (Some(url), None) => match url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
            Some((media_type, data)) => Ok(Source::Data { media_type, data }),
            None => Ok(Source::Url(url)),
        },
        _ => invalid("an image, audio clip or document needs either `url` or `data`, and not both".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Message, Role};
    use crate::testing::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn local_paths_are_distinguished_from_urls() {
        for path in ["/a.png", "./a.png", "../a.png", "~/a.png", "file:///a.png"] {
            assert!(is_local_path(path), "{path}");
        }
        for url in ["https://a/b.png", "//a/b.png", "data:image/png;base64,aGk=", "a.png"] {
            assert!(!is_local_path(url), "{url}");
        }
    }

    #[test]
    fn a_medium_has_one_source() {
        covers("message.image");
        let url = |url: &str| MediaData { url: Some(url.into()), ..MediaData::default() };
        let as_url = |media: &MediaData| source(media, "image/png").map(|source| source.as_url());
        assert_eq!(as_url(&url("https://a/b")).unwrap(), "https://a/b");
        assert_eq!(as_url(&url("data:image/gif;base64,aGk=")).unwrap(), "data:image/gif;base64,aGk=");
        assert!(as_url(&url("./a.png")).unwrap_err().message.contains("is a local file"));
        assert_eq!(as_url(&MediaData::default()).unwrap_err().kind, ErrorKind::InvalidRequest);
    }

    #[test]
    fn local_files_are_found_and_replaced() {
        covers("message.image message.local_file");
        let image = MediaData { url: Some("./pics/a.PNG".into()), ..MediaData::default() };
        let far = MediaData { url: Some("https://a/b.png".into()), ..MediaData::default() };
        let content = vec![ContentPart::Image(image), ContentPart::Image(far.clone())];
        let mut request = Request {
            messages: vec![Message { role: Role::User, content: content.into(), name: None }],
            ..Request::default()
        };
        for media in request.local_media() {
            *media = MediaData::from_file(media.url.as_deref().unwrap(), b"hi");
        }
        let near = MediaData {
            data: Some("aGk=".into()),
            media_type: Some("image/png".into()),
            file_name: Some("a.PNG".into()),
            ..MediaData::default()
        };
        assert_eq!(request.messages[0].content, [ContentPart::Image(near), ContentPart::Image(far)]);
    }
}
