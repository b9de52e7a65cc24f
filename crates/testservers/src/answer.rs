//! Refusals as a service would word them.

/// A status and the code that goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The code, in the words of S3; GCS sends only what its own replies have room for.
    pub code: String,
}

impl Answer {
    /// Returns an answer.
    pub fn new(status: u16, code: impl Into<String>) -> Self {
        let code = code.into();
        Self { status, code }
    }

    /// 503: slow down.
    pub fn slow_down() -> Self {
        Self::new(503, "SlowDown")
    }

    /// 500.
    pub fn internal_error() -> Self {
        Self::new(500, "InternalError")
    }

    /// 502, as a proxy in between would say.
    pub fn bad_gateway() -> Self {
        Self::new(502, "BadGateway")
    }

    /// 504, as a proxy in between would say.
    pub fn gateway_timeout() -> Self {
        Self::new(504, "GatewayTimeout")
    }

    /// 429: too many requests.
    pub fn too_many_requests() -> Self {
        Self::new(429, "TooManyRequests")
    }

    /// 408. AWS sends this code with 400.
    pub fn request_timeout() -> Self {
        Self::new(408, "RequestTimeout")
    }

    /// 409: another conditional write of the same key is under way.
    pub fn conditional_conflict() -> Self {
        Self::new(409, "ConditionalRequestConflict")
    }

    /// 412.
    pub fn precondition_failed() -> Self {
        Self::new(412, "PreconditionFailed")
    }

    /// 403: the client's clock is wrong.
    pub fn time_too_skewed() -> Self {
        Self::new(403, "RequestTimeTooSkewed")
    }

    /// 403: the credentials have expired. AWS sends this code with 400 on S3; see [`Answer::with_status`].
    pub fn expired_token() -> Self {
        Self::new(403, "ExpiredToken")
    }

    /// 403.
    pub fn access_denied() -> Self {
        Self::new(403, "AccessDenied")
    }

    /// 301: the bucket is in another region.
    pub fn wrong_region() -> Self {
        Self::new(301, "PermanentRedirect")
    }

    /// Returns the same code with another status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}
