# The service in a container: docs/service.md.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml requirements.txt README.md LICENSE ./
COPY cli cli
COPY docs docs
COPY ingest ingest
COPY queries queries
COPY sql sql
COPY tracehouse tracehouse
COPY warehouse warehouse
# Without git, which is not in the context: --build-arg VERSION="$(python -m setuptools_scm)".
ARG VERSION=0.1.dev0
RUN python -m venv /opt/tracehouse \
    && SETUPTOOLS_SCM_PRETEND_VERSION="$VERSION" /opt/tracehouse/bin/pip install --no-cache-dir \
        --constraint requirements.txt '.[mcp,serve]'

FROM python:3.13-slim
RUN useradd --system --uid 10001 --no-create-home tracehouse \
    && install --directory --owner tracehouse --mode 0700 /data
COPY --from=build /opt/tracehouse /opt/tracehouse
ENV PATH="/opt/tracehouse/bin:$PATH" TRACEHOUSE_STORE=/data/store
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --start-period=30s CMD ["python", "-c", \
    "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/healthz', timeout=5)"]
ENTRYPOINT ["tracehouse"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080"]
