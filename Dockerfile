# geoveil: the command line, the studio and the service.
#   docker build -t geoveil .
#   docker run --rm -v "$PWD:/data" geoveil check trips.csv
#   docker run --rm -it --network host -v "$PWD:/data" geoveil studio trips.csv --no-browser --port 8899
#   docker run -d --network host -v "$PWD:/data" geoveil serve geoveil.toml
# The studio and the service listen on 127.0.0.1 alone, and so need the network of the host. Ledgers must be in /data:
# they are refused in the layers of a container.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY src src
COPY ground ground
RUN python -m venv /opt/geoveil \
    && /opt/geoveil/bin/pip install --no-cache-dir -c constraints.txt ".[all]" ./ground

FROM python:3.13-slim
COPY --from=build /opt/geoveil /opt/geoveil
ENV PATH="/opt/geoveil/bin:$PATH"
RUN useradd --create-home --uid 1000 geoveil && install -d -o geoveil /data
USER 1000
WORKDIR /data
VOLUME /data
ENTRYPOINT ["geoveil"]
CMD ["--help"]
