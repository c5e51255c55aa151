//! The steps of the client: text, streaming, tools, an image, an object, an error.

use emend_llm::generate::{Generate, GenerateEvent, GenerateResult, Generator, TimeoutConfig};
use emend_llm::tool::{Tool, ToolContext};
use emend_llm::{
    ContentPart, ErrorKind, FinishKind, LlmError, MediaData, Message, Request, Role, StreamEvent, ToolDefinition,
};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::report::{Report, ensure};

/// A red square of 32 by 32 pixels.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/\
                   C5w/SM9AAAAAElFTkSuQmCC";

/// The timeout of each step.
const STEP_MS: u64 = 180_000;

pub(crate) async fn run(generator: &Generator, provider: &str, model: &str, report: &mut Report) {
    let ask = Ask { generator, provider, model };
    report.step("text", ask.text()).await;
    report.step("streaming", ask.streaming()).await;
    report.step("parallel tools", ask.tools()).await;
    report.step("an image", ask.image()).await;
    report.step("structured output", ask.object()).await;
    if provider == "openai_compatible" {
        report.skip("an unknown model", "such a server may answer whatever model is named");
    } else {
        report.step("an unknown model", ask.unknown_model()).await;
    }
}

struct Ask<'a> {
    generator: &'a Generator,
    provider: &'a str,
    model: &'a str,
}

fn told(error: LlmError) -> String {
    format!("{} ({})", error, error.kind.code())
}

impl Ask<'_> {
    /// Returns a prompt. Its output limit leaves room for models that reason before they answer.
    fn prompt(&self, text: &str) -> Generate {
        Generate {
            request: Request {
                model: self.model.to_owned(),
                provider: Some(self.provider.to_owned()),
                max_tokens: Some(4000),
                ..Request::default()
            },
            prompt: Some(text.to_owned()),
            timeout: TimeoutConfig { total_ms: Some(STEP_MS), per_step_ms: None },
            ..Generate::default()
        }
    }

    async fn generate(&self, options: Generate) -> Result<GenerateResult, String> {
        let result = self.generator.generate(options).await.map_err(told)?;
        ensure(!result.last.text().trim().is_empty(), || "the answer is empty".to_owned())?;
        Ok(result)
    }

    async fn text(&self) -> Result<(), String> {
        let result = self.generate(self.prompt("Say hello in one sentence.")).await?;
        let usage = result.last.usage();
        ensure(usage.input_tokens > 0 && usage.output_tokens > 0, || format!("no usage: {usage:?}"))?;
        let finish = result.last.finish_reason();
        ensure(finish.reason == FinishKind::Stop, || format!("it finished by {finish:?}"))
    }

    async fn streaming(&self) -> Result<(), String> {
        let mut stream = self.generator.stream(self.prompt("Write a haiku.")).map_err(told)?;
        let mut pieces = String::new();
        while let Some(event) = stream.next().await {
            if let GenerateEvent::Model(StreamEvent::TextDelta { delta, .. }) = event.map_err(told)? {
                pieces.push_str(&delta);
            }
        }
        let text = stream.response().map(|response| response.message.text()).unwrap_or_default();
        ensure(!text.is_empty() && pieces == text, || format!("{pieces:?} was streamed, {text:?} is the answer"))
    }

    async fn tools(&self) -> Result<(), String> {
        let definition = ToolDefinition {
            name: "get_weather".to_owned(),
            description: "Tells the weather of one city.".to_owned(),
            parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        };
        let weather = |arguments: Value, _: ToolContext| async move {
            Ok(json!({"city": arguments["city"], "sky": "sunny", "celsius": 18})) as Result<Value, String>
        };
        let tool = Tool::active(definition, weather).map_err(|error| error.to_string())?;
        let prompt = self.prompt("What is the weather in San Francisco and New York?");
        let result = self.generate(Generate { tools: vec![tool], max_tool_rounds: Some(3), ..prompt }).await?;
        let (n_steps, text) = (result.steps.len(), result.last.text());
        ensure(n_steps >= 2, || format!("no tool was called: {text:?}"))?;
        let names = ["San Francisco", "New York"];
        ensure(names.iter().all(|name| text.contains(name)), || format!("a city is missing: {text:?}"))
    }

    async fn image(&self) -> Result<(), String> {
        let png =
            MediaData { data: Some(PNG.to_owned()), media_type: Some("image/png".to_owned()), ..MediaData::default() };
        let content = vec![ContentPart::Text { text: "What do you see?".to_owned() }, ContentPart::Image(png)];
        let message = Message { role: Role::User, content: content.into(), name: None };
        self.generate(Generate { messages: Some(vec![message]), prompt: None, ..self.prompt("") }).await.map(drop)
    }

    async fn object(&self) -> Result<(), String> {
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name", "age"],
            "additionalProperties": false,
        });
        let prompt = self.prompt("Extract: Alice is 30 years old");
        let result = self.generator.generate_object(prompt, schema).await.map_err(told)?;
        let output = result.output.unwrap_or_default();
        ensure(output["name"] == "Alice" && output["age"] == 30, || format!("the object is {output}"))
    }

    async fn unknown_model(&self) -> Result<(), String> {
        let ask = Ask { model: "nonexistent-model-xyz", ..*self };
        match self.generator.generate(ask.prompt("test")).await {
            Ok(result) => Err(format!("it was answered: {:?}", result.last.text())),
            Err(error) => ensure(error.kind == ErrorKind::NotFound, || told(error)),
        }
    }
}
