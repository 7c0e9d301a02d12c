# The product in one image: the same pins as everywhere, run by a plain user. "compose.yaml" shows it with PostgreSQL and Redis.
FROM python:3.13-slim-bookworm

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    CHATUI_DATA_DIR=/srv/chatui/var

WORKDIR /srv/chatui

# "--build-arg REQUIREMENTS=requirements-traces.txt" builds it with the packages for traces as well.
ARG REQUIREMENTS=requirements.txt
COPY requirements.txt requirements-traces.txt ./
RUN python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes --requirement "$REQUIREMENTS"

COPY manage.py ./
COPY renderer ./renderer
COPY templates ./templates
COPY static ./static
COPY chatui ./chatui

# The catalogues of translations, as the program reads them.
RUN python -m chatui.languages

# The vocabulary of gpt-oss, for what reads and writes Harmony tokens. Outside of the volume, so that an update of the image brings its own.
# The linter takes the name, which says "token", for a secret.
# hadolint ignore=DL3064
ENV TIKTOKEN_ENCODINGS_BASE=/srv/chatui/vocabulary
# Made first: a data directory that the product makes is for its owner alone.
RUN mkdir vocabulary \
    && CHATUI_SECRET_KEY=only-while-building CHATUI_DATA_DIR=/srv/chatui/vocabulary python manage.py fetch_vocabulary

# No bubblewrap for the tool python: what containers are allowed by default does not let it work. See "Running code on another machine" in docs/tools.md.

# Everything but the data belongs to root, so that a person who gets in cannot change the program.
# The key that signs sessions is made at the first start, never here: a key in an image is a key that everybody has.
RUN CHATUI_SECRET_KEY=only-while-building python manage.py collectstatic --noinput --verbosity 0 \
    && chown -R 10001:10001 var

USER 10001:10001
VOLUME /srv/chatui/var
EXPOSE 8000

# Asks under the first name that the product answers to: any other would be refused, as it should be.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
    CMD ["python", "-c", "import os, urllib.request as web; host = os.environ.get('CHATUI_HOSTS', '').split(',')[0].strip(' .*') or '127.0.0.1'; web.urlopen(web.Request('http://127.0.0.1:8000/healthz', headers={'Host': host}), timeout=4)"]

CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
