// The explorer: looks at every version of a repository through `icefield serve`.
import { render } from 'preact';
import { html } from './ui/base.js';
import { App } from './ui/app.js';
import { takeToken } from './state.js';
import './app.css';

takeToken();
const place = document.getElementById('app');
place.replaceChildren();
render(html`<${App} />`, place);
