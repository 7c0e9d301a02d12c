# One image with the whole product, with the same pinned packages as everywhere and an unprivileged user. compose.yaml runs it with
# PostgreSQL and Redis, deploy/chart in Kubernetes.

# Builds the wheel of the product, as "make package" does: with static files, catalogues and the vocabulary of gpt-oss.
FROM python:3.13-slim-bookworm AS build

WORKDIR /build

COPY requirements.txt requirements-build.txt ./
RUN python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes \
        --requirement requirements.txt --requirement requirements-build.txt

COPY manage.py pyproject.toml LICENSE ./
COPY deploy ./deploy
COPY renderer ./renderer
COPY templates ./templates
COPY static ./static
COPY chatui ./chatui

# The key that signs sessions is created at the first start and never here: everybody who has the image would have it.
RUN export CHATUI_SECRET_KEY=only-while-building CHATUI_DATA_DIR="$PWD/packaged" \
    && mkdir packaged \
    && python manage.py collectstatic --noinput --verbosity 0 \
    && python manage.py fetch_vocabulary
RUN CHATUI_PACKAGED="$PWD/packaged" \
    python -m pip wheel --disable-pip-version-check --no-deps --no-build-isolation --no-index --wheel-dir wheel .


# What runs: packages and no source tree.
FROM python:3.13-slim-bookworm

# The last one: otherwise the C library keeps a pool of memory for each of many threads, which takes 2 to 3 MB more in use.
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    CHATUI_DATA_DIR=/srv/chatui/var \
    MALLOC_ARENA_MAX=2

WORKDIR /srv/chatui

# "--build-arg REQUIREMENTS=requirements-traces.txt" also installs the packages for traces.
ARG REQUIREMENTS=requirements.txt
COPY requirements.txt requirements-traces.txt ./
RUN python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes --requirement "$REQUIREMENTS"

# pip compiles the code: at run time nothing can be written here, and each start would compile all of it.
COPY --from=build /build/wheel ./wheel
RUN python -m pip install --no-cache-dir --disable-pip-version-check --no-deps --no-index wheel/chatui-*.whl

# Without bubblewrap and the packages of the Python tool: its sandbox does not work with the default permissions of containers. Set
# CHATUI_PYTHON_SERVICE_URL to a service that has both: see "Running code on another machine" in docs/tools.md.

# Everything but the data belongs to root, so that an intruder cannot change the program. The data directory is created here, because only
# its owner can read one that the product creates.
RUN mkdir var && chown -R 10001:10001 var

USER 10001:10001
VOLUME /srv/chatui/var
EXPOSE 8000

# Sends the first of the allowed host names: the product refuses requests for any other.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]

CMD ["chatui", "serve", "--host", "0.0.0.0", "--port", "8000"]
