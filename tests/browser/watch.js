// Runs in each page before the page's own scripts: records what the policy blocked, which Trusted Types policies are created, and what is
// announced to screen readers.

addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.effectiveDirective} stopped ${event.blockedURI} ${event.sample}`), true);

globalThis.policiesMade = [];
if (globalThis.trustedTypes) {
  const make = trustedTypes.createPolicy.bind(trustedTypes);
  trustedTypes.createPolicy = (name, rules) => {
    globalThis.policiesMade.push(name);
    return make(name, rules);
  };
}

globalThis.announced = [];
addEventListener("DOMContentLoaded", () => {
  const announcer = document.querySelector(".announcer");
  if (!announcer) return;
  const note = (records) => records.forEach((record) => record.addedNodes.forEach((node) => globalThis.announced.push(node.textContent)));
  new MutationObserver(note).observe(announcer, { childList: true });
});
