# One image with the whole product, with the same pinned packages as everywhere and an unprivileged user. compose.yaml runs it with
# PostgreSQL and Redis.
FROM python:3.13-slim-bookworm

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    CHATUI_DATA_DIR=/srv/chatui/var

WORKDIR /srv/chatui

# "--build-arg REQUIREMENTS=requirements-traces.txt" also installs the packages for traces.
ARG REQUIREMENTS=requirements.txt
COPY requirements.txt requirements-traces.txt ./
RUN python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes --requirement "$REQUIREMENTS"

COPY manage.py ./
COPY renderer ./renderer
COPY templates ./templates
COPY static ./static
COPY chatui ./chatui

# Compiles the translation catalogues and the code: at run time nothing can be written here, and each start would compile all of it.
RUN python -m chatui.site.catalogues \
    && python -m compileall -q chatui renderer

# The vocabulary of gpt-oss, with which Harmony tokens are read and written. It is outside the volume, so that a new image brings its own.
# The linter takes the name for a secret, because it contains "token".
# hadolint ignore=DL3064
ENV TIKTOKEN_ENCODINGS_BASE=/srv/chatui/vocabulary
# Created here, because only its owner can read a data directory that the product creates.
RUN mkdir vocabulary \
    && CHATUI_SECRET_KEY=only-while-building CHATUI_DATA_DIR=/srv/chatui/vocabulary python manage.py fetch_vocabulary

# Without bubblewrap for the Python tool: it does not work with the default permissions of containers. See "Running code on another machine"
# in docs/tools.md.

# Everything but the data belongs to root, so that an intruder cannot change the program.
# The key that signs sessions is created at the first start and never here: everybody who has the image would have it.
RUN CHATUI_SECRET_KEY=only-while-building python manage.py collectstatic --noinput --verbosity 0 \
    && chown -R 10001:10001 var

USER 10001:10001
VOLUME /srv/chatui/var
EXPOSE 8000

# Sends the first of the allowed host names: the product refuses requests for any other.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]

CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
