// Loaded when socket after socket fails: asks over HTTP whether the site is set up so that every one is refused.

/** @returns {Promise<string>} the server's sentence; empty if it knows no reason, or cannot be reached */
export async function why() {
  try {
    const address = `/ws/?origin=${encodeURIComponent(location.origin)}`;
    const response = await fetch(address, { headers: { Accept: "application/json" } });
    return response.status === 426 ? (await response.json()).message : "";
  } catch {
    return "";
  }
}
