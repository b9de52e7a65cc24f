//! Elements of a document, the texts and numbers in them, and why one cannot be read.

use roxmltree::Node;

/// Why a variable cannot be had.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// Zarr has no words for it.
    Refused(String),
    /// The document breaks its own rules: what the variable has, without its name.
    Damaged(String),
}

/// Returns the elements within one.
pub(super) fn children<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}

/// Returns the name that an element gives to something.
pub(super) fn named<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    node.attribute("name").filter(|it| !it.is_empty())
}

/// Returns the text within an element.
pub(super) fn text_of(node: Node<'_, '_>) -> String {
    node.children()
        .filter(Node::is_text)
        .filter_map(|it| it.text())
        .collect()
}

/// Tells whether an element belongs to DAP4, and not to an extension of it.
pub(super) fn is_of_dap(node: Node<'_, '_>) -> bool {
    let root = node.document().root_element();
    node.tag_name().namespace() == root.tag_name().namespace()
}

/// Reads a number.
pub(super) fn number(text: &str) -> Result<u64, Unreadable> {
    let number = text.trim().parse();
    number.map_err(|_| Unreadable::Damaged(format!("has {text:?} where a number belongs")))
}

/// Reads a list of numbers: with white space between, or `[1,2]`.
pub(super) fn numbers(text: &str) -> Result<Vec<u64>, Unreadable> {
    let is_between = |it: char| it.is_whitespace() || matches!(it, ',' | '[' | ']');
    let parts = text.split(is_between).filter(|it| !it.is_empty());
    parts.map(number).collect()
}
