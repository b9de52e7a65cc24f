//! The steps of a request and its operations of storage: spans, where the request is traced; without the feature `otlp`, nothing.
//!
//! The span of the request is in the context that is current while it is answered. So nothing has to be handed down.

#[cfg(feature = "otlp")]
pub(crate) use traced::{Operation, note_ref, step, within_step};
#[cfg(not(feature = "otlp"))]
pub(crate) use untraced::{Operation, note_ref, step, within_step};

#[cfg(feature = "otlp")]
mod traced {
    use std::future::Future;

    use opentelemetry::trace::{FutureExt, SpanKind, Status, TraceContextExt, Tracer};
    use opentelemetry::{Context, KeyValue};
    use opentelemetry_sdk::trace::SdkTracer;

    /// Bytes of a name of a repository or ref that are kept.
    const NAME: usize = 256;

    /// Notes the repository and the ref that the request is about.
    pub(crate) fn note_ref(repository: &str, version: &str) {
        Context::map_current(|context| {
            let span = context.span();
            if !span.is_recording() {
                return;
            }
            let name = |text: &str| text[..text.floor_char_boundary(NAME)].to_owned();
            span.set_attributes([
                KeyValue::new("icefield.repository", name(repository)),
                KeyValue::new("icefield.ref", name(version)),
            ]);
        });
    }

    /// Runs a step of a request.
    pub(crate) async fn step<F: Future>(name: &'static str, future: F) -> F::Output {
        match child(name, SpanKind::Internal) {
            None => future.await,
            Some(context) => {
                let output = future.with_context(context.clone()).await;
                context.span().end();
                output
            }
        }
    }

    /// Lets a task of its own belong to the current step.
    pub(crate) fn within_step<F: Future>(task: F) -> impl Future<Output = F::Output> {
        task.with_current_context()
    }

    /// An operation of storage, from its beginning until the value is dropped.
    #[derive(Debug)]
    pub(crate) struct Operation(Option<Context>);

    impl Operation {
        pub(crate) fn begin(operation: &'static str, key: &str) -> Self {
            let context = child(operation, SpanKind::Client);
            if let Some(context) = &context {
                let key = KeyValue::new("icefield.storage.key", key.to_owned());
                context.span().set_attribute(key);
            }
            Self(context)
        }

        /// Ends it with one of the words of the metrics.
        pub(crate) fn end(self, outcome: &'static str) {
            let Some(context) = self.0 else { return };
            let span = context.span();
            span.set_attribute(KeyValue::new("icefield.storage.outcome", outcome));
            if !["ok", "not_found"].contains(&outcome) {
                span.set_status(Status::error(outcome));
            }
            span.end();
        }
    }

    /// Begins a span below the current one, if the request is traced.
    fn child(name: &'static str, kind: SpanKind) -> Option<Context> {
        Context::map_current(|context| {
            let tracer = context.get::<SdkTracer>()?;
            if !context.span().is_recording() {
                return None;
            }
            let span = tracer
                .span_builder(name)
                .with_kind(kind)
                .start_with_context(tracer, context);
            Some(context.with_span(span))
        })
    }
}

#[cfg(not(feature = "otlp"))]
mod untraced {
    pub(crate) fn note_ref(_: &str, _: &str) {}

    pub(crate) fn step<F>(_: &'static str, future: F) -> F {
        future
    }

    pub(crate) fn within_step<F>(task: F) -> F {
        task
    }

    #[derive(Debug)]
    pub(crate) struct Operation;

    impl Operation {
        pub(crate) fn begin(_: &'static str, _: &str) -> Self {
            Self
        }

        pub(crate) fn end(self, _: &'static str) {}
    }
}
