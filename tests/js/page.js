// As much of a page as scripts look at when they are imported. Nothing in it works.

const nothing = () => null;
const root = { lang: "en", dataset: {} };

Object.assign(globalThis, {
  HTMLElement: class {},
  HTMLInputElement: class {},
  HTMLSelectElement: class {},
  IntersectionObserver: class {},
  ResizeObserver: class {},
  customElements: { define: nothing },
  document: { documentElement: root, querySelector: nothing, querySelectorAll: () => [], addEventListener: nothing },
  addEventListener: nothing,
  matchMedia: () => ({ matches: false, addEventListener: nothing }),
});
