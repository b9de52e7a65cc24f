// The keys, and the switch for single keys.
import { html, useLayoutEffect, useRef, useState } from './base.js';

const STORED = 'icefield-keys';

export function keysAreOn() {
  try {
    return localStorage.getItem(STORED) !== 'off';
  } catch {
    return true;
  }
}

const KEYS = [
  ['Everywhere', [
    ['/', 'choose a version'], ['p', 'pin the snapshot'], ['1 … 5', 'data, history, compare, storage, requests'], ['f', 'go to the filter or search'],
    ['c', 'copy the pinned address of the data'], ['t', 'light, dark, or as the system'], ['?', 'this help'],
  ]],
  ['Lists and trees', [['↑ ↓ or k j', 'move'], ['Page Up, Page Down, Home, End', 'move far'], ['Enter', 'open'], ['← →', 'fold and unfold a group']]],
  ['Plot', [
    ['arrow keys', 'move the cursor (with Shift by ten)'], ['Enter', 'draw the line through the cursor'], ['+ −', 'zoom'], ['0', 'show all'],
    ['[ ]', 'step through the first slider'], ['Space', 'play'], ['x', 'swap the dimensions'],
  ]],
  ['Chunk map', [['arrow keys', 'move from chunk to chunk'], ['Enter', 'show where the chunk is']]],
  ['History', [['Enter', 'show the commit'], ['o', 'open its data'], ['d', 'compare it with its parent']]],
];

export function Help({ close }) {
  const dialog = useRef();
  const [on, setOn] = useState(keysAreOn());
  // Before the next key, which belongs to the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.focus?.();
  }, []);
  const toggle = () => {
    localStorage.setItem(STORED, on ? 'off' : 'on');
    setOn(!on);
  };
  return html`<dialog ref=${dialog} class="help" aria-labelledby="help-title" onClose=${close} onClick=${(event) => event.target === dialog.current && close()}>
    <div class="help-box"><header><h2 id="help-title">Keys</h2><button type="button" onClick=${() => dialog.current.close()}>Close</button></header>
      <div class="help-keys">${KEYS.map(([title, keys]) => html`<section key=${title}><h3>${title}</h3><dl>
        ${keys.map(([key, what]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl></section>`)}</div>
      <label class="check"><input type="checkbox" checked=${on} onChange=${toggle} /> Single keys work outside of lists and plots</label>
      <p class="muted">The address of the page holds all that you see: a copy of it shows another person the same. <a href="THIRD-PARTY">Licences</a> of the packages inside.</p>
    </div></dialog>`;
}
