// What is changed of the JavaScript that jco 1.35 makes, beside making it small. Its imports hand lists over element by element, with a
// call and a log entry for each byte: most of the time that a command takes.

import { minifySync } from 'oxc-minify';

/** Places that are replaced, each of which must be there exactly once. */
const REPLACEMENTS = [
  // Lists of numbers out of the component's memory: their bytes are a typed array's.
  ['      ctx.storagePtr = dataPtr;\n      const val = [];\n', `
      if (typedArray !== undefined) {
        if (originalPtr !== null) { ctx.storagePtr = originalPtr; }
        if (originalLen !== null) { ctx.storageLen = originalLen; }
        return [new typedArray(ctx.memory.buffer.slice(dataPtr, dataPtr + len * elemSize32)), ctx];
      }
      ctx.storagePtr = dataPtr;
      const val = [];
`],
  // And into it.
  ['      const origPtr = ctx.storagePtr;\n      ctx.storagePtr = dataPtr;\n', `
      if (ArrayBuffer.isView(elems) && elems.BYTES_PER_ELEMENT === elemSize32) {
        new Uint8Array(ctx.memory.buffer).set(new Uint8Array(elems.buffer, elems.byteOffset, elems.byteLength), dataPtr);
        return;
      }
      const origPtr = ctx.storagePtr;
      ctx.storagePtr = dataPtr;
`],
];

/** The text of a module of jco's, faster and smaller. */
export function patch(name, source) {
  let text = source;
  for (const [from, to] of REPLACEMENTS) {
    const parts = text.split(from);
    if (parts.length !== 2) throw new Error(`${name}: jco writes other code than patch.mjs knows; there are ${parts.length - 1} of\n${from}`);
    text = parts.join(to);
  }
  // Log entries, whose arguments are made also while nobody wants them.
  text = text.replaceAll(/^[ \t]*_debugLog\([\s\S]*?\);$/gm, '');
  const { code, errors } = minifySync(name, text, { module: true, compress: true, mangle: true });
  if (errors.length > 0) throw new Error(`${name}: ${errors.map(({ message }) => message).join('; ')}`);
  return code;
}

/** The types of an interface: jco 1.35 forgets a word in front of functions whose names are words of JavaScript. */
export const patchTypes = (source) => source.replaceAll(/^function /gm, 'declare function ');
