// Runs before anything else in each page and records what an attack achieves, where the attack cannot erase it.
(() => {
  const seen = [];
  const note = (kind, detail) => {
    if (seen.length < 200) seen.push([kind, String(detail).slice(0, 200)]);
  };
  Object.defineProperty(window, "__seen", { value: seen });
  for (const name of ["alert", "confirm", "prompt", "print", "open"]) {
    Object.defineProperty(window, name, { value: (...values) => note("script", `${name}(${values})`) });
  }
  document.addEventListener("securitypolicyviolation", (event) => {
    if (event.blockedURI === `${location.origin}/favicon.ico`) return; // the browser requests it on its own
    const kind = event.effectiveDirective.startsWith("script") ? "script" : "request";
    note(kind, `${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
  });

  // Save what the inspection needs now, because an element named "attributes" could shadow it later.
  const getter = (prototype, name) => {
    const { get } = Object.getOwnPropertyDescriptor(prototype, name);
    return (target) => get.call(target);
  };
  const names = new Set();
  for (const start of [window, document]) {
    for (let object = start; object; object = Object.getPrototypeOf(object)) {
      for (const name of Object.getOwnPropertyNames(object)) names.add(name);
    }
  }
  const attributes = getter(Element.prototype, "attributes");
  const children = getter(Element.prototype, "children");
  const local = getter(Element.prototype, "localName");
  const space = getter(Element.prototype, "namespaceURI");
  const parent = getter(Node.prototype, "parentNode");
  const protocol = getter(HTMLAnchorElement.prototype, "protocol");
  const value = (element, name) => Element.prototype.getAttribute.call(element, name);
  const byId = (id) => Document.prototype.getElementById.call(document, id);
  const walker = (root) => Document.prototype.createTreeWalker.call(document, root, NodeFilter.SHOW_ALL);

  const look = (policy, count) => {
    const found = seen.map(([kind, detail]) => [-1, kind, detail]);
    const root = byId("root");
    const boxes = root ? [...children(root)] : [];
    const end = byId("end");
    if (boxes.length !== count || !end || parent(end) !== document.body || parent(root) !== document.body) {
      found.push([-1, "escape", `${boxes.length} of ${count} containers are still in place`]);
    }
    const check = (index, element) => {
      const name = local(element);
      const allowed = policy.elements[name];
      if (!allowed || space(element) !== "http://www.w3.org/1999/xhtml") found.push([index, "element", `${space(element)} ${name}`]);
      for (const { name: attribute, value: text } of attributes(element)) {
        if (!allowed?.includes(attribute)) found.push([index, "attribute", `${name} ${attribute}=${text}`]);
        if (attribute === "class" && !text.split(/\s+/).every((word) => new RegExp(policy.classes).test(word))) {
          found.push([index, "class", `${name} ${text}`]);
        }
        if (attribute === "id" || attribute === "name") {
          if (!new RegExp(policy.ids).test(text) || names.has(text)) found.push([index, "clobbering", `${name} ${attribute}=${text}`]);
        }
      }
      if (name === "input" && value(element, "type") !== "checkbox") found.push([index, "element", "an input to write in"]);
      const href = value(element, "href");
      if (href === null || (href.startsWith("#") && new RegExp(policy.fragment).test(href))) return;
      if (name !== "a" || !/^[a-z]+:/i.test(href) || !policy.schemes.includes(protocol(element))) found.push([index, "scheme", href]);
      const rel = (value(element, "rel") ?? "").split(" ");
      if (!policy.rel.every((word) => rel.includes(word)) || value(element, "target") !== "_blank") found.push([index, "rel", href]);
    };
    boxes.forEach((box, index) => {
      const walk = walker(box);
      while (walk.nextNode()) {
        const node = walk.currentNode;
        if (node.nodeType === 1) check(index, node);
        else if (node.nodeType !== 3) found.push([index, "node", `of type ${node.nodeType}`]);
        else if (/[\u202a-\u202e\u2066-\u2069]/.test(node.data)) found.push([index, "direction", node.data]);
      }
    });
    return found;
  };
  Object.defineProperty(window, "__look", { value: look });
})();
