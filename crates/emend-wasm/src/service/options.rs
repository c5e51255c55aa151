//! The options of a service, read from JSON text.

use std::collections::BTreeMap;

use emend_agent::error_code::Code;
use emend_agent::service::{LIMITS, ServiceLimits};
use serde_json::Value;

use crate::agent::json_fields::{Fields, Problem};
use crate::agent::options::ModelOptions;
use crate::failure::{Failure, without_place};
use crate::service::routing::Routing;

/// The options of a service, except for those of its agents.
pub(super) struct ServiceOptions {
    pub(super) limits: ServiceLimits,
    /// Models by the names that sessions use.
    pub(super) models: BTreeMap<String, ModelOptions>,
    /// Name of the model of sessions that name none.
    pub(super) default_model: String,
    pub(super) routing: Option<Routing>,
}

impl ServiceOptions {
    /// Reads the options from JSON text.
    ///
    /// # Errors
    ///
    /// A `configuration` failure that names the wrong option.
    pub(super) fn parse(json: &str) -> Result<Self, Failure> {
        let value: Result<Value, _> = serde_json::from_str(json);
        let read = value.map_err(|error| without_place(&error)).and_then(|value| Self::read(&value));
        read.map_err(|problem| Failure::new(Code::Configuration, format!("the options are wrong: {problem}")))
    }

    fn read(value: &Value) -> Result<Self, Problem> {
        let fields = Fields::of("options", value)?;
        fields.only(&["limits", "models", "defaultModel", "routing"], "")?;
        let given = fields.needed("models")?.as_object().into_iter().flatten();
        let models = given.map(|(name, model)| Ok((name.clone(), ModelOptions::read(model)?)));
        Ok(Self {
            limits: fields.get("limits").map_or(Ok(ServiceLimits::default()), limits)?,
            models: models.collect::<Result<_, Problem>>()?,
            default_model: fields.needed_text("defaultModel")?,
            routing: fields.get("routing").map(|routing| Routing::read(Fields::of("routing", routing)?)).transpose()?,
        })
    }
}

fn limits(value: &Value) -> Result<ServiceLimits, Problem> {
    let fields = Fields::of("limits", value)?;
    let names: Vec<&str> = LIMITS.iter().map(|limit| limit.name).collect();
    fields.only(&names, "")?;
    let mut limits = ServiceLimits::default();
    for name in names {
        if let Some(number) = fields.number(name)? {
            limits.set(name, number);
        }
    }
    Ok(limits)
}
