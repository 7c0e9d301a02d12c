// Sets the chosen theme, and whether lines of code wrap, before the first paint, and tells the server the browser's
// time zone: times on pages are in it, unless the person chose another. It is a classic script in the head on purpose:
// a module would run too late, and the page would flash.
(() => {
  try {
    const theme = localStorage.getItem("chatui:theme");
    if (theme) document.documentElement.dataset.theme = theme;
    if (localStorage.getItem("chatui:wrap")) document.documentElement.dataset.wrapLines = "";
  } catch {
    // Storage may be forbidden; then the account's theme applies.
  }
  // Nobody else gets a cookie: who only reads what was shared leaves no trace.
  if (!document.documentElement.dataset.person) return;
  const zone = `chatui_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
  if (document.cookie.split("; ").includes(zone)) return;
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${zone}; path=/; max-age=31536000; samesite=lax${secure}`;
})();
