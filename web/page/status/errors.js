// Failures in words that help.

const BY_NAME = new Map([
  ['QuotaExceededError', 'The browser gives this page no more room. Nothing of the last command was written. Delete keys, or allow the page to keep its data.'],
  ['InvalidStateError', 'The browser has closed the database, as private windows may do. Reload the page.'],
  ['SecurityError', 'The browser does not let this page store anything. Allow site data, or leave the private window.'],
  ['AbortError', 'Stopped.'],
]);

/** @param {unknown} error */
export function explain(error) {
  if (!(error instanceof Error)) return String(error);
  return BY_NAME.get(error.name) ?? error.message;
}

/** Why the page cannot begin, and what can be done. @param {unknown} error @returns {{ title: string, what: string }} */
export function explainStart(error) {
  if (!('Suspending' in WebAssembly)) {
    return {
      title: 'This browser is too old for this page',
      what: 'It cannot suspend WebAssembly while the database is read (JavaScript Promise Integration). Chrome and Edge can since version 137; Firefox and Safari since their versions of 2026.',
    };
  }
  if (!('indexedDB' in globalThis)) return { title: 'There is no storage here', what: 'The browser does not give this page a database (IndexedDB). Private windows of some browsers are like that.' };
  return { title: 'The database does not open', what: explain(error) };
}
