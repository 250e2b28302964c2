// Failures in words that help.

/** @param {unknown} error */
export const explain = (error) => (error instanceof Error ? error.message : String(error));

/** Why the page cannot begin, and what can be done. @param {unknown} error @returns {{ title: string, what: string }} */
export function explainStart(error) {
  if (!('Suspending' in WebAssembly)) {
    return {
      title: 'This browser is too old for this page',
      what: 'It cannot suspend WebAssembly while the database is read (JavaScript Promise Integration). Chrome and Edge can since version 137. '
        + 'Please use a current version of a browser.',
    };
  }
  const hint = 'Some browsers store nothing in private windows, or where site data are blocked.';
  return { title: 'The database does not open', what: `${explain(error)} ${hint}` };
}
