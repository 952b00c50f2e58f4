//! Why a dump ends early. What Kafka's tool throws has the class and the message of its exception here, because scripts look
//! for that line on standard error.

use klog::error::Error;

/// Why nothing more is printed.
#[derive(Debug)]
pub(crate) enum Stop {
    /// What Kafka's tool would have thrown.
    Thrown(Thrown),
    /// Standard output takes no more.
    Output(std::io::Error),
    /// A failure of klog's own: a file that cannot be read, memory.
    Failed(Error),
}

pub(crate) type Result<T> = std::result::Result<T, Stop>;

/// An exception of Kafka's: what the first line of its stack trace says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thrown {
    /// The class, with its package.
    pub(crate) class: &'static str,
    /// What it says; some say nothing.
    pub(crate) message: Option<String>,
}

impl Thrown {
    pub(crate) fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self {
            class,
            message: Some(message.into()),
        }
    }

    pub(crate) fn runtime(message: impl Into<String>) -> Self {
        Self::new("java.lang.RuntimeException", message)
    }

    pub(crate) fn illegal_argument(message: impl Into<String>) -> Self {
        Self::new("java.lang.IllegalArgumentException", message)
    }

    pub(crate) fn corrupt_record(message: impl Into<String>) -> Self {
        Self::new(
            "org.apache.kafka.common.errors.CorruptRecordException",
            message,
        )
    }

    pub(crate) fn invalid_record(message: impl Into<String>) -> Self {
        Self::new("org.apache.kafka.common.InvalidRecordException", message)
    }

    pub(crate) fn kafka(message: impl Into<String>) -> Self {
        Self::new("org.apache.kafka.common.KafkaException", message)
    }

    /// A read behind the end of a buffer, which says nothing.
    pub(crate) fn underflow() -> Self {
        Self {
            class: "java.nio.BufferUnderflowException",
            message: None,
        }
    }

    /// An access by index behind the end of a buffer.
    pub(crate) fn out_of_bounds() -> Self {
        Self {
            class: "java.lang.IndexOutOfBoundsException",
            message: None,
        }
    }

    pub(crate) fn is_out_of_bounds(&self) -> bool {
        *self == Self::out_of_bounds()
    }

    /// The message as Java puts it into other text: `null` for none.
    pub(crate) fn message_or_null(&self) -> &str {
        self.message.as_deref().unwrap_or("null")
    }
}

impl std::fmt::Display for Thrown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Exception in thread \"main\" {}", self.class)?;
        match &self.message {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}

impl From<Thrown> for Stop {
    fn from(thrown: Thrown) -> Self {
        Self::Thrown(thrown)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
