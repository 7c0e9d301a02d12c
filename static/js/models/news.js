// Counts changes, so that data read meanwhile is known to be stale.

/** How often data is read again because of changes meanwhile. */
const MAX_READINGS = 4;

export class News {
  #count = 0;

  /** Something has changed. */
  came() {
    this.#count += 1;
  }

  /**
   * Reads again until nothing has changed meanwhile.
   * @template Content
   * @param {() => Promise<Content>} read
   * @returns {Promise<{ content: Content, isFresh: boolean }>} not fresh if changes did not stop
   */
  async read(read) {
    for (let reading = 1; ; reading += 1) {
      const known = this.#count;
      const content = await read();
      const isFresh = known === this.#count;
      if (isFresh || reading === MAX_READINGS) return { content, isFresh };
    }
  }
}
