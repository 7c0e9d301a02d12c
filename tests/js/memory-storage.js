// A storage as browsers have it, in memory.

export class MemoryStorage {
  /** @type {Map<string, string>} */
  #items = new Map();
  get length() {
    return this.#items.size;
  }
  /** @param {number} index */
  key(index) {
    return [...this.#items.keys()][index] ?? null;
  }
  /** @param {string} key */
  getItem(key) {
    return this.#items.get(key) ?? null;
  }
  /** @param {string} key @param {string} value */
  setItem(key, value) {
    this.#items.set(key, value);
  }
  /** @param {string} key */
  removeItem(key) {
    this.#items.delete(key);
  }
}
