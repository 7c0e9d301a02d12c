// Counts what has changed, so that what is read meanwhile is known to be older.

/** So often something is read again because news came meanwhile. */
const MOST_READINGS = 4;

export class News {
  #count = 0;

  /** Something has changed. */
  came() {
    this.#count += 1;
  }

  /**
   * Reads until no news has come meanwhile.
   * @template Content
   * @param {() => Promise<Content>} read
   * @returns {Promise<{ content: Content, isFresh: boolean }>} not fresh where the news does not come to rest
   */
  async read(read) {
    for (let reading = 1; ; reading += 1) {
      const known = this.#count;
      const content = await read();
      const isFresh = known === this.#count;
      if (isFresh || reading === MOST_READINGS) return { content, isFresh };
    }
  }
}
