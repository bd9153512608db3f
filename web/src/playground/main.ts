// Entry point of the playground: starts libsoa in WebAssembly, then the page.
import '../shared/style.css';
import './playground.css';
import factory from 'soa-core/playground.js';
import { byId, errorText } from '../shared/dom';
import { Core } from './core.js';
import { Playground } from './playground';

Core.start(factory).then(
  (core) => void new Playground(core),
  (e) => {
    byId('banner').textContent = `WebAssembly could not be started: ${errorText(e)}`;
    byId('banner').hidden = false;
  },
);
