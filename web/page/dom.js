// Elements in one expression each.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element with attributes and children. Attributes that begin with `on` are listeners; `true` sets an attribute without a
 * value; `false`, `null` and `undefined` leave attributes and children out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...present(children));
  return element;
}

/** Replaces an element's children. @param {Element} element @param {...(Child | Child[])} children */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
}

/** The element of the page with this id. @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  return element;
}

/** @param {(Child | Child[])[]} children @returns {(Node | string)[]} */
function present(children) {
  return children.flat().flatMap((child) => (child == null || child === false ? [] : [child instanceof Node ? child : String(child)]));
}
