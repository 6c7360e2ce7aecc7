# Loupe on a CPU. README.md has the two commands.
FROM python:3.11-slim
RUN useradd --create-home loupe && install --directory --owner=loupe /workspace /photos
# PyTorch's own index has the build without CUDA, which is gigabytes smaller.
COPY requirements.txt /tmp/
RUN grep '^torch' /tmp/requirements.txt \
    | xargs pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir -r /tmp/requirements.txt
COPY . /tmp/loupe
RUN pip install --no-cache-dir --no-deps /tmp/loupe && rm -r /tmp/loupe
USER loupe
# Inside the container it listens on all addresses; which of the host's lead there is up to `docker run -p`.
ENV LOUPE_WORKSPACE=/workspace STREAMLIT_SERVER_ADDRESS=0.0.0.0 STREAMLIT_SERVER_HEADLESS=true
WORKDIR /photos
VOLUME /workspace
EXPOSE 8501
HEALTHCHECK --start-period=30s --timeout=5s CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/_stcore/health')"]
CMD ["loupe", "app", "--port", "8501"]
