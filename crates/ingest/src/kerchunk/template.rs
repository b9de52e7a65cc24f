//! Texts with templates in them.

use std::collections::BTreeMap;

use super::expression::{Names, Term, evaluate};
use crate::SourceError;

/// Longest text that is made, in bytes.
const LONGEST: usize = 8 << 10;
/// Expressions evaluated for one text at most: templates that use each other could go on for ever.
const MOST_STEPS: usize = 256;
/// Templates within templates at most.
const DEEPEST: usize = 16;

/// Templates by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Templates {
    templates: BTreeMap<String, String>,
    /// The name of the file in messages.
    file: String,
}

impl Templates {
    /// Reads the part of the file that has them.
    pub(super) fn new(text: Option<&str>, file: &str) -> Result<Self, SourceError> {
        let templates = match text {
            None => BTreeMap::new(),
            Some(text) => serde_json::from_str(text).map_err(|_| {
                SourceError::damaged(file, "its \"templates\" are not texts by name")
            })?,
        };
        Ok(Self {
            templates,
            file: file.to_owned(),
        })
    }

    /// Makes a URL of a text. In a file without templates nothing has a special meaning.
    pub(super) fn render_url(&self, text: &str) -> Result<String, SourceError> {
        match self.templates.is_empty() {
            true => Ok(text.to_owned()),
            false => self.render(text, &BTreeMap::new()),
        }
    }

    /// Fills in what a text has between braces.
    pub(super) fn render(
        &self,
        text: &str,
        variables: &BTreeMap<String, Term>,
    ) -> Result<String, SourceError> {
        if !text.contains('{') {
            return Ok(text.to_owned());
        }
        let mut steps = 0;
        let mut rendering = Rendering {
            templates: &self.templates,
            variables,
            steps: &mut steps,
            depth: 0,
        };
        rendering.text(text).map_err(|problem| {
            let problem = format!("its template {text:?} cannot be filled in: {problem}");
            SourceError::damaged(&self.file, problem)
        })
    }
}

struct Rendering<'a> {
    templates: &'a BTreeMap<String, String>,
    variables: &'a BTreeMap<String, Term>,
    steps: &'a mut usize,
    depth: usize,
}

impl Rendering<'_> {
    fn text(&mut self, text: &str) -> Result<String, String> {
        let mut result = String::new();
        let mut rest = text;
        if text.contains("{%") || text.contains("{#") {
            return Err("statements and comments are more than is known here".to_owned());
        }
        while let Some((before, after)) = rest.split_once("{{") {
            let (expression, after) = after.split_once("}}").ok_or("a {{ has no }}")?;
            *self.steps += 1;
            if *self.steps > MOST_STEPS {
                return Err(format!("it needs more than {MOST_STEPS} steps"));
            }
            result.push_str(before);
            result.push_str(&evaluate(expression, self)?.into_text());
            if result.len() > LONGEST {
                return Err(format!("it becomes longer than {LONGEST} bytes"));
            }
            rest = after;
        }
        result.push_str(rest);
        Ok(result)
    }
}

impl Names for Rendering<'_> {
    fn value(&mut self, name: &str, parameters: &BTreeMap<String, Term>) -> Result<Term, String> {
        if parameters.is_empty()
            && let Some(value) = self.variables.get(name)
        {
            return Ok(value.clone());
        }
        let template = self
            .templates
            .get(name)
            .ok_or_else(|| format!("there is no {name:?}"))?;
        if self.depth >= DEEPEST {
            return Err(format!("{name:?} is nested too deeply"));
        }
        let mut inner = Rendering {
            templates: self.templates,
            variables: if parameters.is_empty() {
                self.variables
            } else {
                parameters
            },
            steps: &mut *self.steps,
            depth: self.depth + 1,
        };
        inner.text(template).map(Term::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(text: &str) -> Result<String, String> {
        let templates = r#"{"u":"server/path","f":"{{u}}/{{c}}.nc","loop":"{{loop}}","a":"{{b}}{{b}}","b":"{{d}}{{d}}",
            "d":"{{e}}{{e}}","e":"{{g}}{{g}}","g":"{{h}}{{h}}","h":"{{k}}{{k}}","k":"{{l}}{{l}}{{l}}","l":""}"#;
        let templates = Templates::new(Some(templates), "x.json").expect("valid");
        let variables = BTreeMap::from([
            ("i".to_owned(), Term::Number(7)),
            ("name".to_owned(), Term::Text("t".to_owned())),
        ]);
        templates
            .render(text, &variables)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn names_numbers_and_parameters_are_filled_in() {
        assert_eq!(
            render("http://{{u}}_{{ i }}").as_deref(),
            Ok("http://server/path_7")
        );
        assert_eq!(
            render("{{f(c='text')}}").as_deref(),
            Ok("server/path/text.nc")
        );
        assert_eq!(render("{{f(c=name)}}").as_deref(), Ok("server/path/t.nc"));
        assert_eq!(render("{{(i + 1) * 1000 - -2}}").as_deref(), Ok("8002"));
        assert_eq!(
            render("{{i // 2}} {{-i // 2}} {{i % 4}} {{-i % 4}}").as_deref(),
            Ok("3 -4 3 1")
        );
        assert_eq!(render("{u}").as_deref(), Ok("{u}"));
    }

    #[test]
    fn what_is_more_is_refused() {
        for text in [
            "{{u",
            "{{}}",
            "{{missing}}",
            "{{u | upper}}",
            "{{i / 2}}",
            "{{i ** 2}}",
            "{% if u %}",
            "{{u + 1}}",
            "{{'a}}",
            "{{loop}}",
            "{{a}}",
            "{{9223372036854775807 + 1}}",
            "{{i // 0}}",
            "{{f('text')}}",
            "{{'%02d' % i}}",
            "{{((((((((((((((((((i))))))))))))))))))}}",
            "{{é}}",
        ] {
            let problem = render(text).expect_err(text);
            assert!(problem.contains("x.json"), "{problem}");
        }
    }
}
