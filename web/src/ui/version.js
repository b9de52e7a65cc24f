// Versions: what their names mean, and how they look.
import { html } from './base.js';
import { ask, askOnce } from '../api.js';

const ID = /^[0-9A-HJKMNP-TV-Z]{20}$/;

/** Returns whether text is a snapshot id, so that its answers never change. */
export function isId(text) {
  return ID.test(text);
}

/** Finds the snapshot that a ref means. */
export function resolve(repo, ref, signal) {
  return isId(ref) ? askOnce([repo, 'resolve', ref]) : ask([repo, 'resolve', ref], {}, signal);
}

export function RefIcon({ kind }) {
  const shapes = {
    tag: html`<path d="M2.5 2.5h5l6 6-5 5-6-6z" /><circle cx="5.4" cy="5.4" r="1" />`,
    snapshot: html`<circle cx="8" cy="8" r="3.2" /><path d="M.8 8h4M11.2 8h4" />`,
  };
  return html`<svg viewBox="0 0 16 16" width="16" height="16" class="icon" aria-hidden="true">
    ${shapes[kind] ?? html`<circle cx="4.5" cy="3.5" r="1.8" /><circle cx="4.5" cy="12.5" r="1.8" /><circle cx="11.5" cy="5" r="1.8" /><path d="M4.5 5.3v5.4M11.5 6.8c0 3-7 1.6-7 4" />`}</svg>`;
}
