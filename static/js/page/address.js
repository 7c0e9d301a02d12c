// The address that the page shows, without its fragment: if the browser's history has another one, it leads elsewhere.

let shown = "";

/** @param {string} [address] that the page has from now on; by default the browser's */
export function showsAs(address) {
  if (address) history.replaceState(null, "", address);
  shown = location.pathname + location.search;
}

export function shownAddress() {
  return shown;
}
