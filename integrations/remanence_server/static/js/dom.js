// Building elements. Every text becomes a text node, so that nothing in a memory is ever read as markup.

const NO_ATTRIBUTE = /^on|^style$|^srcdoc$/i;
const URL_ATTRIBUTE = /^(href|src|action)$/i;

/** An element: `h("p", {class: "meta", on: {click}}, "text", child)`. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element, as `h`. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "value" || name === "checked" || name === "disabled" || name === "selected") {
      element[name] = value;
    } else {
      setAttribute(element, name, value === true ? "" : String(value));
    }
  }
  element.append(...flat(children));
  return element;
}

function setAttribute(element, name, value) {
  if (NO_ATTRIBUTE.test(name)) throw new TypeError(`${name} is not set as an attribute here`);
  if (URL_ATTRIBUTE.test(name) && !/^[#.]/.test(value)) throw new TypeError(`${name}=${value} leads out of this page`);
  element.setAttribute(name, value);
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "");
}

/** Replace what an element contains. */
export function replace(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

export const find = (selector, root = document) => root.querySelector(selector);
export const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];

/** A function that runs once things are quiet for some milliseconds. */
export function debounce(action, milliseconds) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), milliseconds);
  };
}
