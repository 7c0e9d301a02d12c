// The title of the browser's tab: the conversation's, and a word in front of it while something happened that nobody
// has seen yet.

export class TabTitle {
  #title = document.title;
  #news = "";

  constructor() {
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.#show("");
    });
  }

  /** @param {string} title */
  set(title) {
    this.#title = title;
    this.#show(this.#news);
  }

  /**
   * Something happened. Says so only in a tab that nobody looks at, and never what.
   * @param {string} news
   */
  tell(news) {
    if (document.hidden) this.#show(news);
  }

  /** @param {string} news */
  #show(news) {
    this.#news = news;
    document.title = news ? `${news} · ${this.#title}` : this.#title;
  }
}
