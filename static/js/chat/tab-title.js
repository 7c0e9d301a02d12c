// The title of the browser tab: the conversation's title, with a notice in front of it until the person sees the news.

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
   * Something happened. The title shows it only in a background tab, and never with any content.
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
