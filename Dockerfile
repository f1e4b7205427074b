# The course in a container, for a user who is not root and may write in /home/learner alone:
#
#   docker build -t viz-transformer .
#   docker run --rm -p 127.0.0.1:8888:8888 -v lessons:/home/learner/lessons viz-transformer
#
# It prints the address with its token. Your answers stay in the volume `lessons`.
FROM python:3.11-slim

# torch without gigabytes for graphics cards; empty, to take what pip takes by itself.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

RUN useradd --create-home learner
COPY . /opt/viz_transformer
RUN pip install --no-cache-dir ${TORCH_INDEX:+--extra-index-url ${TORCH_INDEX}} \
    -c /opt/viz_transformer/constraints.txt "/opt/viz_transformer[lab]"

USER learner
WORKDIR /home/learner
# A new volume takes its owner from the folder that it is mounted on.
RUN mkdir lessons
EXPOSE 8888
CMD ["viz-transformer", "lab", "--no-browser", "--ip=0.0.0.0"]
